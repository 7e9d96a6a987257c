"""The recorded runs, step by step, padded to one batch and one token capacity so that a run is one signature."""

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from parity_tests.kit.trees import Tree

BLOCK_SIZE = 16


class Run(NamedTuple):
    """One recording, the capacities that hold every step of it, and what every request emitted."""

    name: str
    k: int
    rows: int
    num_slots: int
    vocab_size: int
    capacity: int
    pages: int
    steps: list[dict[str, Any]]
    outputs: list[list[int]]


class Step(NamedTuple):
    """One step of a run: what the host knew, what was recorded, and the state before, after and with new drafts."""

    number: int
    query_lens: np.ndarray
    cu_seqlens_q: np.ndarray
    source_rows: np.ndarray
    slots: np.ndarray
    num_draft_tokens: np.ndarray
    staged_input_ids: np.ndarray
    staged_computed: np.ndarray
    block_tables: np.ndarray
    input_ids: np.ndarray
    anchors: np.ndarray
    drafts: np.ndarray
    num_computed_tokens: np.ndarray
    sampled_token_ids: np.ndarray
    num_accepted: np.ndarray
    next_token_ids: np.ndarray
    output_token_ids: np.ndarray
    next_draft_token_ids: np.ndarray
    state: Tree
    committed: Tree
    stored: Tree


def load() -> list[Run]:
    """Every recording of the package."""
    folder = files("parity_tests.traces")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".json"))
    return [
        _run(name.removesuffix(".json"), json.loads(folder.joinpath(name).read_text()))
        for name in names
        if name != "schema.json"
    ]


def replay(run: Run) -> Iterator[Step]:
    """The steps in order. The state follows from what was recorded; the buffer keeps the last step's ids."""
    state = {
        "anchor_token_ids": np.full(run.num_slots, -1, np.int32),
        "draft_token_ids": np.zeros((run.num_slots, run.k), np.int32),
        "num_computed_tokens": np.zeros(run.num_slots, np.int32),
    }
    buffer = np.zeros(run.capacity, np.int32)
    for number, recorded in enumerate(run.steps):
        step = _step(run, number, recorded, state, buffer)
        yield step
        state, buffer = step.stored, step.input_ids


def _run(name: str, data: dict[str, Any]) -> Run:
    meta, steps = data["meta"], data["steps"]
    longest = max(max(map(sum, zip(s["query_lens"], s["num_computed_tokens"], strict=True))) for s in steps)
    most = max(len(s["input_ids"]) for s in steps)
    return Run(
        name,
        meta["num_speculative_tokens"],
        meta["max_num_seqs"],
        meta["num_slots"],
        meta["vocab_size"],
        1 << (most - 1).bit_length(),
        -(-longest // BLOCK_SIZE),
        steps,
        data["outputs"],
    )


def _step(run: Run, number: int, recorded: dict[str, Any], state: Tree, buffer: np.ndarray) -> Step:
    def rows(name: str, filler: Any) -> np.ndarray:
        return _padded(recorded[name], run.rows, filler)

    lens, sources, slots = rows("query_lens", 0), rows("source_rows", -1), rows("slots", -1)
    computed, no_drafts = rows("num_computed_tokens", 0), [0] * run.k
    ids = _padded(recorded["input_ids"], run.capacity, 0)
    committed = _committed(recorded, state)
    return Step(
        number,
        lens,
        np.cumsum([0, *lens], dtype=np.int32),
        sources,
        slots,
        rows("num_draft_tokens", 0),
        _staged(ids, lens, sources, buffer),
        np.where(sources < 0, computed, 0).astype(np.int32),
        _block_tables(run, slots),
        ids,
        rows("anchors", -1),
        rows("drafts", no_drafts),
        computed,
        _padded(recorded["sampled_token_ids"], run.rows * (run.k + 1), 0),
        rows("num_accepted", 0),
        rows("next_token_ids", -1),
        _outputs(run, recorded),
        rows("next_draft_token_ids", no_drafts),
        state,
        committed,
        committed | {"draft_token_ids": _written(state["draft_token_ids"], recorded, recorded["next_draft_token_ids"])},
    )


def _staged(ids: np.ndarray, lens: np.ndarray, sources: np.ndarray, buffer: np.ndarray) -> np.ndarray:
    """The last step's buffer with the tokens of the rows that the host stages."""
    by_host = np.repeat(sources < 0, lens)
    return np.where(np.pad(by_host, (0, len(ids) - len(by_host))), ids, buffer)


def _padded(values: list, length: int, filler: Any) -> np.ndarray:
    return np.array(values + [filler] * (length - len(values)), np.int32)


def _written(table: np.ndarray, recorded: dict[str, Any], values: Any) -> np.ndarray:
    new = table.copy()
    new[recorded["slots"]] = values
    return new


def _committed(recorded: dict[str, Any], state: Tree) -> Tree:
    kept = [
        computed + length - (drafts - accepted)
        for computed, length, drafts, accepted in zip(
            *(recorded[name] for name in ("num_computed_tokens", "query_lens", "num_draft_tokens", "num_accepted")),
            strict=True,
        )
    ]
    return {
        "anchor_token_ids": _written(state["anchor_token_ids"], recorded, recorded["next_token_ids"]),
        "draft_token_ids": state["draft_token_ids"],
        "num_computed_tokens": _written(state["num_computed_tokens"], recorded, kept),
    }


def _outputs(run: Run, recorded: dict[str, Any]) -> np.ndarray:
    """What a row emitted, and the token after its chunk where the prompt was not read to its end."""
    tokens = [
        emitted or [token] for emitted, token in zip(recorded["emitted"], recorded["next_token_ids"], strict=True)
    ]
    width = run.k + 1
    return _padded([row + [-1] * (width - len(row)) for row in tokens], run.rows, [-1] * width)


def _block_tables(run: Run, slots: np.ndarray) -> np.ndarray:
    """Pages as a pool hands them out: every slot has its own, none of them next to each other."""
    tables = 1 + slots[:, None] + run.num_slots * np.arange(run.pages)
    return np.where(slots[:, None] < 0, 0, tables).astype(np.int32)
