"""A run of the loop as a recording: the format of `parity_tests/traces`, which every operation is then checked on."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from parity_tests.lossless.loop import Step
from parity_tests.lossless.model import Sizes

FORMAT = 2


class About(NamedTuple):
    """What a recording says of where it comes from."""

    model: str
    prompts: str
    drafter: str
    vocab_size: int


def recording(steps: Sequence[Step], sizes: Sizes, about: About, greedy: Sequence[Sequence[int]]) -> dict[str, Any]:
    """The steps of a run that was not interrupted, and what each request emitted.

    Args:
        steps: of the loop, in order; those in which nobody had a row are left out.
        sizes: of the run.
        about: goes into the recording as it is.
        greedy: what plain decoding emits, in request order.

    Returns:
        What `parity_tests/traces/schema.json` describes. A request's last step may emit more than was asked for.
    """
    recorded = [_step(step, sizes.drafts) for step in steps if step.seen.query_lens.any()]
    outputs: list[list[int]] = [[] for _ in greedy]
    for step in recorded:
        for request, tokens in zip(step["request"], step["emitted"], strict=True):
            outputs[request] += tokens
    pairs = zip(outputs, greedy, strict=True)
    meta = {
        "format": FORMAT,
        **about._asdict(),
        "num_speculative_tokens": sizes.drafts,
        "max_num_seqs": sizes.rows,
        "num_slots": sizes.slots,
        "chunk": sizes.chunk,
        "steps": len(recorded),
        "rows": sum(len(step["request"]) for step in recorded),
        "verified_drafts": sum(sum(step["num_draft_tokens"]) for step in recorded),
        "accepted_drafts": sum(sum(step["num_accepted"]) for step in recorded),
        "requests": len(greedy),
        "identical_to_plain_greedy": sum(ours[: len(wanted)] == list(wanted) for ours, wanted in pairs),
    }
    return {"meta": meta, "steps": recorded, "outputs": outputs}


def as_json(data: dict[str, Any]) -> str:
    """The recording as the text of a file."""
    return json.dumps(data, separators=(",", ":"))


def _step(step: Step, drafts: int) -> dict[str, Any]:
    """One step, without the rows that were nobody's."""
    seen, sources = step.seen, step.staged.source_rows
    rows = np.flatnonzero(seen.query_lens > 0).tolist()
    logits = sum(int(seen.num_draft_tokens[row]) + 1 for row in rows)

    def of(array: np.ndarray) -> list[Any]:
        return [array[row].tolist() for row in rows]

    def carried(array: np.ndarray, filler: Any) -> list[Any]:
        return [array[row].tolist() if sources[row] >= 0 else filler for row in rows]

    emitted = zip(of(seen.output_token_ids), of(seen.num_accepted), rows, strict=True)
    return {
        "request": of(step.request),
        "slots": of(step.staged.slots),
        "source_rows": of(sources),
        "query_lens": of(seen.query_lens),
        "num_draft_tokens": of(seen.num_draft_tokens),
        "num_computed_tokens": of(seen.num_computed_tokens),
        "input_ids": seen.input_ids[: sum(of(seen.query_lens))].tolist(),
        "anchors": carried(seen.anchor_token_ids, -1),
        "drafts": carried(seen.draft_token_ids, [0] * drafts),
        "sampled_token_ids": seen.sampled_token_ids[:logits].tolist(),
        "num_accepted": of(seen.num_accepted),
        "next_token_ids": of(seen.next_token_ids),
        "emitted": [tokens[: accepted + 1] if step.emitted[row] else [] for tokens, accepted, row in emitted],
        "next_draft_token_ids": of(seen.next_draft_token_ids),
    }
