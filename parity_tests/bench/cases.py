"""The steps that are measured: a batch of decode rows with the lengths, ids and pages that serving would have."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from parity_tests.bench import host
from parity_tests.kit import oracle
from parity_tests.kit.cases import Case
from parity_tests.kit.contract import (
    BLOCK_SIZE,
    INPUTS,
    OPERATIONS,
    PACKED_DRAFTS,
    RESULT_FIELDS,
    SAMPLED,
    SLOTS,
    Array,
    Operation,
    Record,
    shape_of,
    tree_of,
)
from parity_tests.kit.trees import Tree

# A context of 2,048 tokens, and a chunk of a prompt that fits it.
PAGES, PAGE, CHUNK = 128, 16, 1024
VOCABULARY = 129_280
# How likely the drafter is right: of K drafts, 0.64 K are then verified in the mean.
LIKELY = 0.64


class Row(NamedTuple):
    """What is measured in one row of a table: an operation at a size, with row lengths of one kind of `LENGTHS`."""

    operation: str
    batch: int
    columns: int
    lengths: str


def _drawn(batch: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    return 1 + (rng.random((batch, columns)) < LIKELY).sum(1)


def _ones(batch: int, _: int, __: np.random.Generator) -> np.ndarray:
    return np.ones(batch, int)


def _full(batch: int, columns: int, _: np.random.Generator) -> np.ndarray:
    return np.full(batch, columns + 1)


def _tail(batch: int, columns: int, _: np.random.Generator) -> np.ndarray:
    lens = np.ones(batch, int)
    lens[-1] = min(batch * (columns + 1) - batch + 1, CHUNK)
    return lens


# Every row its own number of drafts, none, all of them, and none beside one prompt chunk at the end.
LENGTHS: dict[str, Callable[[int, int, np.random.Generator], np.ndarray]] = {
    "drawn": _drawn,
    "ones": _ones,
    "full": _full,
    "tail": _tail,
}

_STAGED = OPERATIONS["prepare_step"].arguments
# prepare_step, commit_step and store_drafts with nothing between them: what the forward samples is given.
STEP = Operation(
    "whole_step",
    8,
    (*_STAGED, SLOTS, SAMPLED, Array("new_draft_token_ids", "B K")),
    Record("out", "WholeStep", (INPUTS, Record("result", "StepResult", RESULT_FIELDS))),
    (BLOCK_SIZE,),
    donates="state",
)


class WholeStep(NamedTuple):
    """What the forward reads, and what is known behind it."""

    inputs: Any
    result: Any


def operation_of(row: Row) -> Operation:
    """The operation of a row; the whole step is one too."""
    return STEP if row.operation == STEP.name else OPERATIONS[row.operation]


def compose(prepare_step: Any, commit_step: Any, store_drafts: Any) -> Callable[..., WholeStep]:
    """The whole step, called by position as its parts are."""

    def whole_step(*arguments: Any, block_size: int) -> WholeStep:
        *staged, slots, sampled_token_ids, drafts = arguments
        given = dict(zip((argument.name for argument in _STAGED), staged, strict=True))
        inputs = prepare_step(*staged, block_size=block_size)
        result = commit_step(given["state"], inputs, given["cu_seqlens_q"], slots, sampled_token_ids)
        return WholeStep(inputs, result._replace(state=store_drafts(result.state, slots, drafts)))

    return whole_step


def answer(evaluate: Callable[[str, Tree, Tree], Tree], operation: Operation, inputs: Tree, static: Tree) -> Tree:
    """What `evaluate` says, which knows operations by name; of the whole step, what it says to its parts.

    >>> case = make_case(Row("whole_step", 1, 3, "ones"))
    >>> list(answer(oracle.evaluate, STEP, case.inputs, case.static))
    ['inputs', 'result']
    """
    if operation is not STEP:
        return evaluate(operation.name, inputs, static)
    made = evaluate("prepare_step", {argument.name: inputs[argument.name] for argument in _STAGED}, static)
    both = {"cu_seqlens_q": inputs["cu_seqlens_q"], "slots": inputs["slots"]}
    sampled = {"sampled_token_ids": inputs["sampled_token_ids"]}
    result = evaluate("commit_step", {"state": inputs["state"], "inputs": made, **both, **sampled}, {})
    drafts = {"slots": inputs["slots"], "draft_token_ids": inputs["new_draft_token_ids"]}
    return {
        "inputs": made,
        "result": result | {"state": evaluate("store_drafts", {"state": result["state"], **drafts}, {})},
    }


def make_case(row: Row, seed: int = 0) -> Case:
    """One call with the oracle's answer; the same seed gives the same values."""
    operation, dims = operation_of(row), _dims(row)
    rng = np.random.default_rng([seed, row.batch, row.columns])
    step = _step(row, dims, rng)
    inputs = {argument.name: _value(argument, step, dims, rng) for argument in operation.arguments}
    static = {entry.name: dims[entry.letter or entry.name] for entry in operation.statics}
    name = f"{row.operation}-B{row.batch}-K{row.columns}-{row.lengths}"
    expected = answer(oracle.evaluate, operation, inputs, static)
    return Case(name, operation.name, "measured", "bench", static, inputs, expected)


def _dims(row: Row) -> dict[str, int]:
    """The letters and the statics that no letter gives: every second slot is taken, every row can verify all drafts."""
    capacity = row.batch * (row.columns + 1)
    letters = {"B": row.batch, "S": 2 * row.batch, "K": row.columns, "T": capacity, "P": PAGES, "N": capacity + 1}
    return {**letters, "block_size": PAGE, "vocab_size": VOCABULARY, "early_stop": True}


def _step(row: Row, dims: dict[str, int], rng: np.random.Generator) -> Tree:
    """The arguments that have to fit each other, under their names."""
    lens = LENGTHS[row.lengths](row.batch, row.columns, rng).astype(np.int32)
    decodes, slots = lens <= row.columns + 1, rng.permutation(dims["S"])[: row.batch].astype(np.int32)
    step: Tree = {
        "query_lens": lens,
        "cu_seqlens_q": host.cu_seqlens(lens),
        "source_rows": np.where(decodes, slots, np.int32(-1)),
        "num_draft_tokens": np.where(decodes, lens - 1, 0).astype(np.int32),
        "slots": slots,
    }
    step |= {argument.name: _value(argument, step, dims, rng) for argument in _STAGED}
    inputs = host.prepare_step(**{argument.name: step[argument.name] for argument in _STAGED}, block_size=PAGE)
    return step | {"inputs": inputs, "indices": inputs["verify"], "sampled_token_ids": _sampled(inputs, rng)}


def _sampled(inputs: Tree, rng: np.random.Generator) -> np.ndarray:
    """The target's samples, of which most are what was drafted."""
    indices, drafts = inputs["verify"], inputs["draft_token_ids"]
    sampled = rng.integers(0, VOCABULARY, indices["logits_indices"].size, np.int32)
    place = np.flatnonzero(
        (np.arange(drafts.size) < indices["cu_num_draft_tokens"][-1]) & (rng.random(drafts.size) < 0.8)
    )
    sampled[indices["target_logits_indices"][place]] = drafts[place]
    return sampled


def _value(argument: Array | Record, step: Tree, dims: dict[str, int], rng: np.random.Generator) -> Any:
    if argument.name in step:
        return step[argument.name]
    if argument == PACKED_DRAFTS:
        return step["inputs"]["draft_token_ids"]
    return tree_of(argument, lambda array: _random(array, dims, rng))


def _random(array: Array, dims: dict[str, int], rng: np.random.Generator) -> np.ndarray:
    """Values of an argument that nothing else has to fit."""
    shape = (dims["T"],) if array.shape == "..." else shape_of(array, dims)
    match array.name:
        case "accepted" | "live":
            return rng.random(shape) < 0.8
        case "confidence":
            return rng.random(shape).astype(np.float32) ** np.float32(0.5)
        case "sps_table":
            return np.linspace(1, 0.2, shape[0], dtype=np.float32)
        case "block_tables":
            return rng.permutation(int(np.prod(shape))).astype(np.int32).reshape(shape)
        case _:
            low, high = _range(array.name, dims)
            return np.asarray(rng.integers(low, high, shape, np.int32))


def _range(name: str, dims: dict[str, int]) -> tuple[int, int]:
    match name:
        case "num_computed_tokens" | "staged" | "table":
            return 0, PAGES * PAGE - CHUNK
        case "offsets" | "scheduled_lens":
            return 1, dims["K"] + 2
        case "verify_lens" | "num_accepted_max":
            return 0, dims["K"] + 1
        case "token_indices":
            return -2, dims["T"] + 2
        case _:
            return 0, VOCABULARY
