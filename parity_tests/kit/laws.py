"""What must hold between two calls, whatever the right result is: laws besides equality with an oracle.

A law takes a case, asks the implementation for its result, and gives another case that follows from the two: what the
law foretells is expected there, and of everything else only dtype and shape.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from parity_tests.kit.cases import Case
from parity_tests.kit.contract import OPERATIONS, Array, tree_of
from parity_tests.kit.shapes import arguments_by_path, dims_of, promised
from parity_tests.kit.strategies import SHAPES, Draw, cases
from parity_tests.kit.trees import Tree, fill, leaves, map_leaves

Ask = Callable[[Case], Tree]
Law = Callable[[Case, Ask, Draw], Case]
Change = Callable[[str, Array, np.ndarray], Any]

# One shape is enough, as every law makes another one of it.
DIMS = SHAPES[-1]
# No slot, no row and no number of drafts: whoever used it would be noticed.
ODD = 77
# Where something stands in the batch, which is another place in another batch.
_PLACES = (
    *("row", "cu_num_draft_tokens", "cu_num_logits"),
    *("logits_indices", "target_logits_indices", "bonus_logits_indices"),
)
# What a row without tokens has; the single result of an operation goes under the operation's name.
_OF_AN_EMPTY_ROW = {"num_draft_tokens": 0, "seq_lens": 0, "num_computed_tokens": ODD, "overlay_rows": ODD}
_TAILS = {"offset": 0, "valid": False, "input_ids": 0, "positions": 0, "slot_mapping": -1} | dict.fromkeys(
    ("assemble_input_ids", "overlay_input_ids", "overlay_input_ids_donated", "token_positions"), 0
)
# The operations that a step consists of, and what it calls their arguments and results.
_PARTS: dict[str, tuple[tuple[str, ...], str]] = {
    "seq_lens": (("cu_seqlens_q", "num_computed_tokens"), "seq_lens"),
    "token_positions": (("cu_seqlens_q", "num_computed_tokens"), "positions"),
    "slot_mapping": (("cu_seqlens_q", "num_computed_tokens", "block_tables"), "slot_mapping"),
    "verify_indices": (("cu_seqlens_q", "num_draft_tokens"), "verify"),
    "gather_draft_token_ids": (("input_ids", "indices"), "draft_token_ids"),
}


def rows_in_another_order(case: Case, ask: Ask, draw: Draw) -> Case:
    """Rows in another order have the same results, in that order."""
    cu = _cu_seqlens(case)
    order = draw(st.permutations(range(len(cu) - 1)))

    def reordered(_: str, array: Array, values: np.ndarray) -> Any:
        match array.shape.split():
            case ["B+1"]:
                return np.cumsum([0, *np.diff(cu)[order]], dtype=np.int32)
            case ["B", *_]:
                return values[order]
            case ["T"]:
                return np.concatenate([*(values[cu[i] : cu[i + 1]] for i in order), values[cu[-1] :]])
            case ["S", *_] | []:
                return values
        return None

    return _following(case, ask(case), reordered, reordered, unknown=_PLACES)


def one_empty_row_more(case: Case, ask: Ask, draw: Draw) -> Case:
    """A row without tokens, wherever it stands, changes nothing for the others."""
    batch = len(_cu_seqlens(case)) - 1
    place = draw(st.integers(0, batch))

    def extended(path: str, array: Array, values: np.ndarray) -> Any:
        match array.shape.split():
            case ["B+1"]:
                return np.insert(values, place, values[place])
            case ["B", *_]:
                return np.insert(values, place, 0 if path == "query_lens" else ODD, axis=0)
        return values

    def foretold(path: str, array: Array, values: np.ndarray) -> Any:
        name = _name(case, path)
        match array.shape.split():
            case ["B"]:
                return np.insert(values, place, _OF_AN_EMPTY_ROW[name])
            case ["B*K"] | ["B*(K+1)"]:
                padding = -1 if name == "draft_token_ids" else 0
                return np.pad(values, (0, len(values) // batch), constant_values=padding)
        return extended(path, array, values)

    unknown = ("row", "cu_num_draft_tokens", "bonus_logits_indices")
    return _following(case, ask(case), extended, foretold, unknown=unknown)


def one_idle_row_more(case: Case, ask: Ask, draw: Draw) -> Case:
    """A row that is not live, wherever it stands and whatever it holds, gets no drafts and takes none from others."""
    place = draw(st.integers(0, len(case.inputs["live"])))
    inserted = {"confidence": 1, "live": False, "out": 0}

    def extended(path: str, _: Array, values: np.ndarray) -> np.ndarray:
        return np.insert(values, place, inserted[path], axis=0) if path in inserted else values

    return _following(case, ask(case), extended, extended, unknown=())


def two_steps_in_one(case: Case, ask: Ask, draw: Draw) -> Case:
    """The rows of two steps in one batch have the results of both, one behind the other."""
    cu = _cu_seqlens(case)
    second = draw(cases(case.op, DIMS))
    others = dict(leaves(second.inputs)) | dict(leaves(ask(second)))

    def joined(path: str, array: Array, values: np.ndarray) -> Any:
        match array.shape.split():
            case ["B+1"]:
                return np.concatenate([values, values[-1] + others[path][1:]])
            case ["B", *_]:
                return np.concatenate([values, others[path]])
            case ["T"]:
                one, tail = np.split(values, cu[-1:])
                two, rest = np.split(others[path], _cu_seqlens(second)[-1:])
                return np.concatenate([one, two, tail, rest])
        return None

    static = {name: 2 * value if name == "capacity" else value for name, value in case.static.items()}
    return _following(case._replace(static=static), ask(case), joined, joined, unknown=_PLACES)


def twice_is_once(case: Case, ask: Ask, _: Draw) -> Case:
    """What has been clamped stays as it is."""
    clamped = ask(case)
    first = OPERATIONS[case.op].arguments[0].name
    return case._replace(inputs=case.inputs | {first: clamped["out"]}, expected=clamped)


def nothing_behind_the_last_row(case: Case, ask: Ask, _: Draw) -> Case:
    """Every place behind the total holds what padding has to hold."""
    result, total = ask(case), case.inputs["cu_seqlens_q"][-1]

    def cleared(path: str, leaf: np.ndarray) -> np.ndarray:
        tail = _TAILS.get(_name(case, path))
        behind = np.arange(len(leaf)) >= total
        return leaf if tail is None else np.where(behind, tail, leaf).astype(leaf.dtype)

    return case._replace(expected=map_leaves(cleared, result))


def tokens_of_their_own_row(case: Case, *_: Any) -> Case:
    """With ids that tell their row and column, every carried token is found to come from where it should."""
    cu, batch = case.inputs["cu_seqlens_q"], len(case.inputs["cu_seqlens_q"]) - 1
    height, width = case.inputs["draft_token_ids"].shape
    telltale = np.add.outer(1000 * np.arange(1, height + 1), np.arange(width + 1)).astype(np.int32)
    staged = -np.arange(1, case.static.get("capacity", len(case.inputs.get("input_ids", ()))) + 1, dtype=np.int32)
    known = {"anchor_token_ids": telltale[:, 0], "draft_token_ids": telltale[:, 1:], "input_ids": staged}
    inputs = case.inputs | {name: known[name] for name in known.keys() & case.inputs.keys()}
    sources = case.inputs.get("source_rows", np.arange(batch))
    expected = np.where(np.arange(len(staged)) < cu[-1], staged, 0)
    for source, start, stop in zip(sources, cu[:-1], cu[1:], strict=True):
        if source >= 0:
            tokens = telltale[source, : stop - start]
            expected[start:stop] = np.pad(tokens, (0, stop - start - len(tokens)))
    return case._replace(inputs=inputs, expected={"out": expected})


def greedy_is_sampled(case: Case, ask: Ask, _: Draw) -> Case:
    """Greedy acceptance is what a sampler does that accepts the target's own choice."""
    drafts, sampled = case.inputs["draft_token_ids"], case.inputs["sampled_token_ids"]
    accepted = drafts == sampled[case.inputs["indices"]["target_logits_indices"]]
    return case._replace(op="accept_sampled", inputs=case.inputs | {"accepted": accepted}, expected=ask(case))


def nothing_accepted(case: Case, *_: Any) -> Case:
    """A sampler that accepts nothing leaves every row its first token."""
    indices, sampled = case.inputs["indices"], case.inputs["sampled_token_ids"]
    counts, first = indices["num_draft_tokens"], indices["cu_num_logits"]
    tokens = np.where(first[1:] > first[:-1], sampled[np.minimum(first[:-1], len(sampled) - 1)], -1)
    columns = len(sampled) // len(counts) - 1
    expected = {
        "num_accepted": np.zeros_like(counts),
        "num_rejected": counts,
        "next_token_ids": tokens,
        "output_token_ids": np.pad(tokens[:, None], ((0, 0), (0, columns)), constant_values=-1),
    }
    return case._replace(inputs=case.inputs | {"accepted": np.zeros_like(case.inputs["accepted"])}, expected=expected)


def donated_is_plain(case: Case, ask: Ask, _: Draw) -> Case:
    """The donating form has the result of the plain one."""
    return case._replace(op=f"{case.op}_donated", expected=ask(case))


def others_keep_their_slots(case: Case, ask: Ask, _: Draw) -> Case:
    """What no row names stays in the state as it was."""
    named = np.isin(np.arange(len(case.inputs["state"]["anchor_token_ids"])), case.inputs["slots"])
    before = dict(leaves(case.inputs["state"]))

    def kept(path: str, leaf: np.ndarray) -> np.ndarray:
        field = path.rpartition("state.")[2]
        if path.startswith("acceptance") or field not in before:
            return leaf
        return np.where(named.reshape(-1, *[1] * (leaf.ndim - 1)), leaf, before[field])

    return case._replace(expected=map_leaves(kept, ask(case)))


def step_is_its_parts(case: Case, ask: Ask, draw: Draw) -> Case:
    """Every part of a step is what the operation of its own makes of it."""
    part = draw(st.sampled_from(list(_PARTS)))
    names, field = _PARTS[part]
    step = ask(case)
    given = case.inputs | step | {"num_draft_tokens": case.inputs["num_draft_tokens"], "indices": step["verify"]}
    statics = case.static | {
        "capacity": len(step["input_ids"]),
        "num_speculative_tokens": case.inputs["state"]["draft_token_ids"].shape[1],
    }
    expected = step[field] if isinstance(step[field], dict) else {"out": step[field]}
    static = {entry.name: statics[entry.name] for entry in OPERATIONS[part].statics}
    return case._replace(op=part, inputs={name: given[name] for name in names}, static=static, expected=expected)


_BY_ROW = ("cu_seqlens", "token_rows", "assemble_input_ids", "verify_indices")
_BY_ROW += ("token_positions", "seq_lens", "slot_mapping")
_OVERLAID = ("overlay_input_ids", "overlay_rows", "prepare_step")

# The operations that each law is about.
LAWS: dict[Law, tuple[str, ...]] = {
    rows_in_another_order: (*_BY_ROW, *_OVERLAID, "store_drafts", "bound_query_lens"),
    one_empty_row_more: (*_BY_ROW, *_OVERLAID, "token_index_bound", "clamp_token_indices", "store_drafts"),
    one_idle_row_more: ("schedule_verify_lens",),
    two_steps_in_one: _BY_ROW,
    twice_is_once: ("clamp_token_indices", "clamp_token_ids"),
    nothing_behind_the_last_row: (*(name for name in _TAILS if name in OPERATIONS), "token_rows", "prepare_step"),
    tokens_of_their_own_row: ("assemble_input_ids", "overlay_input_ids"),
    greedy_is_sampled: ("accept_greedy",),
    nothing_accepted: ("accept_sampled",),
    donated_is_plain: tuple(name.removesuffix("_donated") for name, it in OPERATIONS.items() if it.donates),
    others_keep_their_slots: ("commit_step", "store_drafts"),
    step_is_its_parts: ("prepare_step",),
}


def _following(case: Case, result: Tree, of_inputs: Change, of_results: Change, unknown: tuple[str, ...]) -> Case:
    """The case whose inputs and results come from those of another; results that are `unknown` are only promised."""
    operation = OPERATIONS[case.op]
    assert operation.result is not None
    given, model = arguments_by_path(operation), tree_of(operation.result, lambda array: array)
    kinds = dict(leaves(model if isinstance(model, dict) else {"out": model}))
    inputs = map_leaves(lambda path, leaf: of_inputs(path, given[path], leaf), case.inputs)
    told = {
        path: values
        for path, leaf in leaves(result)
        if path.rpartition(".")[2] not in unknown and (values := of_results(path, kinds[path], leaf)) is not None
    }
    return case._replace(inputs=inputs, expected=fill(told, promised(operation, inputs, case.static)))


def _cu_seqlens(case: Case) -> np.ndarray:
    """The prefix sum of the case; where only the number of rows matters, that of empty ones."""
    if "cu_seqlens_q" in case.inputs:
        return case.inputs["cu_seqlens_q"]
    lens = case.inputs.get(
        "query_lens", np.zeros(dims_of(OPERATIONS[case.op], case.inputs, case.static)["B"], np.int32)
    )
    return np.cumsum([0, *lens], dtype=np.int32)


def _name(case: Case, path: str) -> str:
    return case.op if path == "out" else path.rpartition(".")[2]
