"""Random cases of any operation, as many at once as are wanted."""

from collections.abc import Callable

import numpy as np

from parity_tests.kit import reference
from parity_tests.kit.contract import OPERATIONS, Array, Operation, Record, shape_of, statics_of, tree_of
from parity_tests.kit.draw import _schedule, _values
from parity_tests.kit.draw._rows import Rows, draw_rows
from parity_tests.kit.draw._values import Source, draw_source
from parity_tests.kit.trees import Tree, map_leaves

_BY_NAME: dict[str, Callable[[Source, tuple[int, ...]], np.ndarray]] = {
    "anchor_token_ids": _values.token_ids,
    "draft_token_ids": _values.draft_token_ids,
    "input_ids": _values.token_ids,
    "token_ids": _values.token_ids,
    "sampled_token_ids": _values.token_ids,
    "accepted": _values.decisions,
    "num_computed_tokens": _values.token_counts,
    "staged": _values.token_counts,
    "table": _values.token_counts,
    "token_indices": _values.token_indices,
    "offsets": _values.offsets,
    "block_tables": _values.block_tables,
    "confidence": _schedule.confidences,
    "sps_table": _schedule.tables,
    "live": _schedule.lives,
    "verify_lens": _schedule.verify_lens,
    "num_accepted_max": _schedule.accepted_max,
    "scheduled_lens": _schedule.scheduled_lens,
}
_WILD = {"int32": _values.wild, "bool": _values.decisions, "float32": _schedule.wild_floats}


def draw(
    operation: Operation, dims: dict[str, int], rng: np.random.Generator, *, hostile: bool
) -> tuple[Tree, dict[str, int]]:
    """Inputs and statics for `operation`; `dims` is an entry of `SHAPES`.

    A step as serving has them; or, `hostile`, any values wherever the contract still defines the result.

    >>> from parity_tests.kit.draw import SHAPES
    >>> inputs, static = draw(OPERATIONS["token_rows"], SHAPES[0], np.random.default_rng(0), hostile=False)
    >>> inputs["cu_seqlens_q"].shape, static
    ((5,), {'capacity': 16})
    """
    inputs, static = draw_many(operation, dims, rng, 1, hostile=hostile)
    return map_leaves(lambda _, leaf: leaf[0, ...], inputs), static


def draw_many(
    operation: Operation, dims: dict[str, int], rng: np.random.Generator, count: int, *, hostile: bool
) -> tuple[Tree, dict[str, int]]:
    """`count` cases at once: the first axis of every array counts them.

    >>> from parity_tests.kit.draw import SHAPES
    >>> inputs, _ = draw_many(OPERATIONS["token_rows"], SHAPES[0], np.random.default_rng(0), 7, hostile=False)
    >>> inputs["cu_seqlens_q"].shape
    (7, 5)
    """
    source = draw_source(dims, rng, count, hostile=hostile)
    rows = draw_rows(source)
    inputs: Tree = {}
    for argument in operation.arguments:
        inputs[argument.name] = _value(source, rows, argument, inputs)
    _let_drafts_match(source, inputs)
    if hostile and "inputs" in inputs:
        _let_empty_rows_name_any_slot(source, inputs)
    return inputs, statics_of(operation, dims)


def draw_wild(operation: Operation, dims: dict[str, int], rng: np.random.Generator) -> tuple[Tree, dict[str, int]]:
    """Inputs of the right dtypes and shapes and of any values, for which the contract promises nothing but that."""
    source = draw_source(dims, rng, 1, hostile=True)

    def anything(array: Array) -> np.ndarray:
        return _WILD[array.dtype](source, shape_of(array, dims))

    inputs = {argument.name: tree_of(argument, anything) for argument in operation.arguments}
    return inputs, statics_of(operation, dims)


def _value(source: Source, rows: Rows, argument: Array | Record, drawn: Tree):
    """The value of one argument; the records that earlier operations give come from there, so that they agree."""
    if argument.name in Rows._fields:
        return getattr(rows, argument.name)
    if argument.name == "indices":
        given = {"cu_seqlens_q": rows.cu_seqlens_q, "num_draft_tokens": rows.num_draft_tokens}
        return reference.evaluate("verify_indices", given, {"num_speculative_tokens": source.dims["K"]})
    if argument.name == "inputs":
        return _prepared(source, rows, drawn["state"])
    return tree_of(argument, lambda array: _BY_NAME[array.name](source, (source.cases, *shape_of(array, source.dims))))


def _prepared(source: Source, rows: Rows, state: Tree) -> Tree:
    operation = OPERATIONS["prepare_step"]
    arguments = {argument.name: argument for argument in operation.arguments if argument.name != "state"}
    inputs = {name: _value(source, rows, argument, {}) for name, argument in arguments.items()}
    return reference.evaluate("prepare_step", {**inputs, "state": state}, statics_of(operation, source.dims))


def _let_drafts_match(source: Source, inputs: Tree) -> None:
    """The target samples most drafts, or acceptance would end at the first one."""
    if "sampled_token_ids" not in inputs:
        return
    step = inputs.get("inputs", inputs)
    indices = inputs["indices"] if "indices" in inputs else step["verify"]
    drafts, targets = step["draft_token_ids"], indices["target_logits_indices"]
    real = np.arange(drafts.shape[1]) < indices["num_draft_tokens"].sum(1)[:, None]
    case, place = np.nonzero(real & _values.decisions(source, drafts.shape))
    inputs["sampled_token_ids"][case, targets[case, place]] = drafts[case, place]


def _let_empty_rows_name_any_slot(source: Source, inputs: Tree) -> None:
    """A row of length 0 writes nothing, so it may name a slot that another row writes."""
    empty = np.diff(inputs["cu_seqlens_q"], axis=1) == 0
    slots = source.rng.integers(0, max(source.dims["S"], 1), empty.shape)
    inputs["slots"] = np.where(empty, slots, inputs["slots"]).astype(np.int32)
