"""Faults for the decode loop: a framework whose package has one function that is wrong in one way.

`prepare_step` is called with (input_ids, cu, sources, num_draft, computed, state, tables), `commit_step` with (state,
inputs, cu, slots, sampled).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from parity_tests.lossless.frameworks import Framework, with_function

Plant = Callable[[Framework], Framework]


class Fault(NamedTuple):
    """What is wrong, and how to make it so."""

    name: str
    plant: Plant
    in_tokens: bool | None = True
    """Whether requests emit other tokens; None where they may. If not, another draft is made, verified or accepted: a
    wrong draft is rejected, and of a right one that is rejected the target says the same."""

    @property
    def kind(self) -> str:
        """What it is a fault of."""
        return self.name.partition(":")[0]


def wrapped(operation: str, wrap: Callable[[Any, Callable], Callable]) -> Plant:
    """The operation as `wrap(xp, operation)` makes it."""

    def plant(framework: Framework) -> Framework:
        planted = wrap(framework.xp, getattr(framework.package, operation))
        planted.__name__ = operation
        return framework._replace(package=with_function(framework.package, planted))

    return plant


def after(operation: str, change: Callable[[Any, Any, tuple], Any]) -> Plant:
    """The operation with its result put through `change(xp, result, arguments)`."""

    def wrap(xp, original):
        def planted(*arguments, **static):
            return change(xp, original(*arguments, **static), arguments)

        return planted

    return wrapped(operation, wrap)


def before(operation: str, number: int, change: Callable[[Any, Any, tuple], Any]) -> Plant:
    """The operation with one of its arguments put through `change(xp, argument, arguments)`."""

    def wrap(xp, original):
        def planted(*given, **static):
            return original(*given[:number], change(xp, given[number], given), *given[number + 1 :], **static)

        return planted

    return wrapped(operation, wrap)


def field(operation: str, path: str, change: Callable[[Any, Any, tuple, Any], Any]) -> Plant:
    """The operation with a field of its result put through `change(xp, value, arguments, result)`."""

    def changed(xp, result, given):
        *owner, name = path.split(".")
        record = getattr(result, owner[0]) if owner else result
        record = record._replace(**{name: change(xp, getattr(record, name), given, result)})
        return result._replace(**{owner[0]: record}) if owner else record

    return after(operation, changed)


def of_state(name: str, change: Callable[[Any, Any, tuple], Any]) -> Plant:
    """`prepare_step`, that is the assembly, from a state one table of which is wrong."""
    return before(
        "prepare_step", 5, lambda xp, state, given: state._replace(**{name: change(xp, getattr(state, name), given)})
    )


def of_judged(change: Callable[[Any, Any, tuple, Any], Any]) -> Plant:
    """`commit_step` with other drafts under verification, `change(xp, drafts, arguments, right result)`."""

    def wrap(xp, original):
        def planted(*given):
            state, inputs, *rest = given
            drafts = change(xp, inputs.draft_token_ids, given, original(*given))
            return original(state, inputs._replace(draft_token_ids=drafts), *rest)

        return planted

    return wrapped("commit_step", wrap)


def more(_, array, *__):
    return array + 1


def less(_, array, *__):
    return array - 1


def rolled(xp, array, *_):
    """Every entry where the next one should be, the last one in front."""
    return xp.concatenate([array[-1:], array[:-1]])


def late(xp, array, *_):
    """Every entry one place late, the first one twice."""
    return xp.concatenate([array[:1], array[:-1]])


def of_another_column(xp, drafts, *_):
    return xp.concatenate([drafts[:, -1:], drafts[:, :-1]], 1)


def more_behind_the_first_row(xp, positions, given, _):
    cu = given[1]
    end = xp.where(cu > 0, cu, cu[-1]).min()
    return xp.where(xp.arange(positions.shape[0]) >= end, positions + 1, positions)


def from_the_end(xp, positions, given, _):
    """A row of fewer than K + 1 tokens ends where one of K + 1 would."""
    cu, sources, columns = given[1], given[2], given[5].draft_token_ids.shape[1]
    missing = xp.where(sources >= 0, columns + 1 - (cu[1:] - cu[:-1]), 0)
    row = (cu[1:, None] <= xp.arange(positions.shape[0])).sum(0)
    return positions + missing[xp.clip(row, 0, missing.shape[0] - 1)]


def in_the_next_page(xp, slots, *_):
    return xp.where(slots >= 0, slots + 8, slots)


def in_slot_0_if_nowhere(xp, slots, *_):
    return xp.clip(slots, 0, 2**30)


def as_before_this_step(_, __, ___, inputs):
    return inputs.num_computed_tokens


def of_prompts_too(xp, _, given):
    """Drafts verified in every row that has more than one token."""
    return xp.clip(given[1][1:] - given[1][:-1] - 1, 0, 7)


def the_token_in_front(xp, _, __, inputs):
    """What stands at the logit that judges a draft, where the draft stands one further."""
    verify = inputs.verify
    ids = inputs.input_ids[verify.logits_indices[verify.target_logits_indices]]
    return xp.where(inputs.draft_token_ids >= 0, ids, inputs.draft_token_ids)


def all_as_sampled(xp, drafts, given, _):
    said = given[4][given[1].verify.target_logits_indices]
    return xp.where(drafts >= 0, said, drafts)


def first_rejected_as_sampled(xp, drafts, given, result):
    said = given[4][given[1].verify.target_logits_indices]
    return xp.where(_at(xp, drafts, given, result.acceptance.num_accepted), said, drafts)


def last_accepted_rejected(xp, drafts, given, result):
    last = _at(xp, drafts, given, result.acceptance.num_accepted - 1) & (drafts >= 0)
    return xp.where(last, -1, drafts)


def _at(xp, drafts, given, number):
    """Whether each packed draft is the one with this number of its row."""
    verify = given[1].verify
    inside = (number >= 0) & (number < verify.num_draft_tokens)
    place = xp.where(inside, verify.cu_num_draft_tokens - verify.num_draft_tokens + number, -1)
    return (xp.arange(drafts.shape[0]) == place[:, None]).any(0)


def as_it_was(name):
    """The old table of the state."""
    return lambda _, __, given, ___: getattr(given[0], name)


def recommitted_without_rejections(_, original):
    """A count of tokens as if every draft had been accepted."""

    def planted(state, inputs, *rest):
        rejected = original(state, inputs, *rest).acceptance.num_rejected
        counted = inputs._replace(num_computed_tokens=inputs.num_computed_tokens + rejected)
        return original(state, counted, *rest)

    return planted


def empty_rows_written(xp, original):
    """Every row writes its slot: as if one of length 0 had a token, its neighbour's."""

    def planted(state, inputs, cu, slots, sampled):
        result = original(state, inputs, cu, slots, sampled)
        anchors = result.state.anchor_token_ids
        mine = (xp.arange(anchors.shape[0]) == xp.where(cu[1:] > cu[:-1], -1, slots)[:, None]).any(0)
        return result._replace(state=result.state._replace(anchor_token_ids=xp.where(mine, -1, anchors)))

    return planted


def the_rows_last(_, indices, given, __):
    return given[2][1:] - 1 + 0 * indices


def nothing_stored(_, __, given):
    return given[0]


FAULTS = (
    Fault("assembly: from the state of another row", before("prepare_step", 2, rolled)),
    Fault("assembly: the anchor of another slot", of_state("anchor_token_ids", rolled)),
    Fault("assembly: the drafts of another slot", of_state("draft_token_ids", rolled), False),
    Fault("assembly: the drafts in another order", of_state("draft_token_ids", of_another_column), False),
    Fault("assembly: the prompt one place late", before("prepare_step", 0, late)),
    Fault("assembly: ids one place late", field("prepare_step", "input_ids", late)),
    Fault("assembly: a prompt overwritten", before("prepare_step", 2, lambda xp, x, _: xp.clip(x, 0, 7))),
    Fault("layout: lengths one less", before("cu_seqlens", 0, less)),
    Fault("layout: rows of the next place", field("token_rows", "row", late)),
    Fault("layout: offsets one further", field("token_rows", "offset", more)),
    Fault("positions: one further", field("prepare_step", "positions", more)),
    Fault("positions: one further behind the first row", field("prepare_step", "positions", more_behind_the_first_row)),
    Fault("positions: counted from the end of K + 1", field("prepare_step", "positions", from_the_end)),
    Fault("positions: computed tokens of another slot", of_state("num_computed_tokens", rolled)),
    Fault("slots: one further", field("prepare_step", "slot_mapping", more)),
    Fault("slots: of the next place", field("prepare_step", "slot_mapping", late)),
    Fault("slots: in the next page", field("prepare_step", "slot_mapping", in_the_next_page)),
    Fault("slots: what has none in slot 0", field("prepare_step", "slot_mapping", in_slot_0_if_nowhere)),
    Fault("slots: block tables of another row", before("prepare_step", 6, rolled)),
    Fault("lengths: one more", field("prepare_step", "seq_lens", more)),
    Fault("lengths: of another row", field("prepare_step", "seq_lens", rolled)),
    Fault("lengths: as before this step", field("prepare_step", "seq_lens", as_before_this_step)),
    Fault("indices: logits one further", field("prepare_step", "verify.logits_indices", more)),
    Fault("indices: logits one place late", field("prepare_step", "verify.logits_indices", late)),
    Fault("indices: target logits one further", field("prepare_step", "verify.target_logits_indices", more)),
    Fault("indices: bonus logits one less", field("prepare_step", "verify.bonus_logits_indices", less)),
    Fault("indices: first logits one further", field("prepare_step", "verify.cu_num_logits", more)),
    Fault("indices: first drafts of the next row", field("prepare_step", "verify.cu_num_draft_tokens", late)),
    Fault("indices: one draft less", field("prepare_step", "verify.num_draft_tokens", less)),
    Fault("indices: drafts of prompts, too", before("prepare_step", 3, of_prompts_too)),
    Fault("indices: drafts one place late", field("prepare_step", "draft_token_ids", late), None),
    Fault("indices: the token in front", field("prepare_step", "draft_token_ids", the_token_in_front), None),
    Fault("acceptance: every draft", of_judged(all_as_sampled)),
    Fault("acceptance: one too many", of_judged(first_rejected_as_sampled)),
    Fault("acceptance: one too few", of_judged(last_accepted_rejected), False),
    Fault("acceptance: counted one more", field("commit_step", "acceptance.num_accepted", more)),
    Fault("acceptance: output one row late", field("commit_step", "acceptance.output_token_ids", late)),
    Fault("acceptance: another next token", field("commit_step", "acceptance.next_token_ids", rolled), False),
    Fault("state: rejected tokens counted", wrapped("commit_step", recommitted_without_rejections)),
    Fault("state: the old anchor", field("commit_step", "state.anchor_token_ids", as_it_was("anchor_token_ids"))),
    Fault("state: the old count", field("commit_step", "state.num_computed_tokens", as_it_was("num_computed_tokens"))),
    Fault("state: in the slot of another row", before("commit_step", 3, rolled)),
    Fault("state: written by empty rows", wrapped("commit_step", empty_rows_written)),
    Fault("drafter: started one further", field("commit_step", "last_token_indices", more), False),
    Fault("drafter: started one back", field("commit_step", "last_token_indices", less), False),
    Fault("drafter: started at the row's end", field("commit_step", "last_token_indices", the_rows_last), False),
    Fault("drafter: nothing stored", after("store_drafts", nothing_stored), False),
    Fault("drafter: stored in the slot of another row", before("store_drafts", 1, rolled), False),
    Fault("schedule: one draft more", after("schedule_verify_lens", more), False),
    Fault("schedule: confidence of another row", before("schedule_verify_lens", 0, rolled), False),
    Fault("schedule: rows that sit out", before("bound_query_lens", 2, lambda xp, x, _: xp.clip(x, 1, 8))),
)

# One for each array that a forward with attention is given, and for acceptance.
OF_EACH_ARRAY = tuple(
    fault
    for fault in FAULTS
    if fault.name
    in (
        "assembly: the anchor of another slot",
        "positions: one further behind the first row",
        "slots: of the next place",
        "lengths: one more",
        "lengths: of another row",
        "indices: logits one place late",
        "indices: first logits one further",
        "acceptance: every draft",
    )
)
