"""Every recorded step as a case of every operation: expected is what was recorded, the oracle fills in the rest.

The runs were recorded without a scheduler of drafts. Its operations are given what it would take to come to what was
recorded: a drafter that knows which drafts will be accepted, and rows that may have all their drafts.
"""

from collections.abc import Iterator

import numpy as np

from parity_tests.kit import oracle
from parity_tests.kit.cases import Case
from parity_tests.kit.contract import CHECK_STEP, OPERATIONS, Operation
from parity_tests.kit.traces import BLOCK_SIZE, Run, Step, load, replay
from parity_tests.kit.trees import Tree, fill


def trace_cases() -> Iterator[Case]:
    """The cases of every recorded run."""
    for run in load():
        statics = _statics(run)
        for step in replay(run):
            given, known, recorded = _given(step), _special_inputs(run, step), _recorded(run, step)
            for operation in OPERATIONS.values():
                plain = operation.name.removesuffix("_donated")
                values = given | known.get(plain, {})
                inputs = {argument.name: values[argument.name] for argument in operation.arguments}
                static = {entry.name: statics[entry.name] for entry in operation.statics}
                expected = fill(recorded.get(plain, {}), oracle.evaluate(operation.name, inputs, static))
                yield _case(operation, run, step, inputs, static, expected)
            inputs = {argument.name: given[argument.name] for argument in CHECK_STEP.arguments}
            yield _case(CHECK_STEP, run, step, inputs, {s.name: statics[s.name] for s in CHECK_STEP.statics}, {})


def _case(operation: Operation, run: Run, step: Step, inputs: Tree, static: dict[str, int], expected: Tree) -> Case:
    name, source = f"{run.name}-step-{step.number}", f"traces/{run.name}.json"
    return Case(name, operation.name, "a recorded step", source, static, inputs, expected)


def _statics(run: Run) -> dict[str, int]:
    return {
        "capacity": run.capacity,
        "num_speculative_tokens": run.k,
        "block_size": BLOCK_SIZE,
        "vocab_size": run.vocab_size,
        "num_slots": run.num_slots,
        "early_stop": True,
    }


def _given(step: Step) -> Tree:
    """What the step gives under the names that most operations have for it."""
    return {
        "query_lens": step.query_lens,
        "cu_seqlens_q": step.cu_seqlens_q,
        "source_rows": step.source_rows,
        "slots": step.slots,
        "num_draft_tokens": step.num_draft_tokens,
        "num_computed_tokens": step.num_computed_tokens,
        "input_ids": step.staged_input_ids,
        "token_ids": step.input_ids,
        "block_tables": step.block_tables,
        "sampled_token_ids": step.sampled_token_ids,
        "state": step.state,
    }


def _special_inputs(run: Run, step: Step) -> dict[str, Tree]:
    """What single operations take under a name of their own, or another array under a common one."""
    staged = {"num_computed_tokens": step.staged_computed}
    arguments = OPERATIONS["prepare_step"].arguments
    known = _given(step) | staged
    prepared = oracle.evaluate("prepare_step", {a.name: known[a.name] for a in arguments}, {"block_size": BLOCK_SIZE})
    drafts = _verified_drafts(run, step)
    verified = {"indices": prepared["verify"], "draft_token_ids": drafts}
    matches = drafts == step.sampled_token_ids[prepared["verify"]["target_logits_indices"]]
    ends = step.cu_seqlens_q[1:]
    return {
        "assemble_input_ids": _known_rows(step),
        "overlay_input_ids": step.state,
        "overlay_rows": {"staged": step.staged_computed, "table": step.state["num_computed_tokens"]},
        "clamp_token_indices": {"token_indices": np.stack([ends - step.query_lens - 1, ends], axis=1)},
        "last_token_indices": {"offsets": 1 + step.num_draft_tokens - step.num_accepted},
        "gather_draft_token_ids": {"input_ids": step.input_ids, "indices": prepared["verify"]},
        "accept_greedy": verified,
        "accept_sampled": verified | {"accepted": matches},
        "prepare_step": staged,
        "commit_step": {"inputs": prepared},
        "store_drafts": {"state": step.committed, "draft_token_ids": step.next_draft_token_ids},
        **_choices(run, step),
    }


def _choices(run: Run, step: Step) -> dict[str, Tree]:
    """What a scheduler of drafts could have been given."""
    return {
        "schedule_verify_lens": {
            "confidence": (np.arange(run.k) < step.num_accepted[:, None]).astype(np.float32),
            "sps_table": np.ones(run.rows * (run.k + 1) + 1, np.float32),
            "live": step.query_lens > 0,
        },
        "bound_query_lens": {
            "verify_lens": step.num_draft_tokens,
            "num_accepted_max": np.zeros((), np.int32),
            "scheduled_lens": np.where(step.anchors >= 0, run.k + 1, 0).astype(np.int32),
        },
    }


def _recorded(run: Run, step: Step) -> dict[str, Tree]:
    """As much of each result as the recording holds."""
    drafts = {"draft_token_ids": _verified_drafts(run, step)}
    counts = {"num_draft_tokens": step.num_draft_tokens}
    computed = {"num_computed_tokens": step.num_computed_tokens}
    acceptance = {
        "num_accepted": step.num_accepted,
        "num_rejected": step.num_draft_tokens - step.num_accepted,
        "next_token_ids": step.next_token_ids,
        "output_token_ids": step.output_token_ids,
    }
    return {
        "assemble_input_ids": {"out": _known_tokens(run, step)},
        "overlay_input_ids": {"out": step.input_ids},
        "overlay_rows": {"out": step.num_computed_tokens},
        "clamp_token_ids": {"out": step.input_ids},
        "verify_indices": counts,
        "gather_draft_token_ids": {"out": drafts["draft_token_ids"]},
        "accept_greedy": acceptance,
        "accept_sampled": acceptance,
        "prepare_step": {"input_ids": step.input_ids, "verify": counts} | computed | drafts,
        "commit_step": {"acceptance": acceptance, "state": step.committed},
        "store_drafts": step.stored,
        "schedule_verify_lens": {"out": step.num_accepted},
        "bound_query_lens": {"query_lens": np.where(step.anchors >= 0, step.query_lens, 0)},
    }


def _known_rows(step: Step) -> Tree:
    """The rows whose anchor was recorded; the others, which read their prompt, are empty."""
    lens = np.where(step.anchors >= 0, step.query_lens, 0)
    return {
        "cu_seqlens_q": np.concatenate([[0], np.cumsum(lens)]).astype(np.int32),
        "anchor_token_ids": step.anchors,
        "draft_token_ids": step.drafts,
    }


def _known_tokens(run: Run, step: Step) -> np.ndarray:
    known = np.repeat(step.anchors >= 0, step.query_lens)
    tokens = step.input_ids[: len(known)][known]
    return np.pad(tokens, (0, run.capacity - len(tokens)))


def _verified_drafts(run: Run, step: Step) -> np.ndarray:
    packed = [draft for row, count in zip(step.drafts, step.num_draft_tokens, strict=True) for draft in row[:count]]
    return np.pad(np.array(packed, np.int32), (0, run.rows * run.k - len(packed)), constant_values=-1)
