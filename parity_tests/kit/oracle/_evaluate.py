"""The oracle by the operation's name, in the form that cases are written in."""

from collections.abc import Callable

from parity_tests.kit.oracle._assemble import assemble_input_ids, overlay_input_ids, overlay_rows
from parity_tests.kit.oracle._bounds import clamp_token_ids, clamp_token_indices, last_token_indices, token_index_bound
from parity_tests.kit.oracle._defined import is_defined
from parity_tests.kit.oracle._layout import cu_seqlens, token_rows
from parity_tests.kit.oracle._positions import seq_lens, slot_mapping, token_positions
from parity_tests.kit.oracle._schedule import bound_query_lens, schedule_verify_lens
from parity_tests.kit.oracle._step import commit_step, prepare_step, store_drafts
from parity_tests.kit.oracle._types import Record
from parity_tests.kit.oracle._verify import accept_greedy, accept_sampled, gather_draft_token_ids, verify_indices

_FUNCTIONS: dict[str, Callable] = {
    function.__name__: function
    for function in (
        cu_seqlens,
        token_rows,
        assemble_input_ids,
        overlay_input_ids,
        overlay_rows,
        token_index_bound,
        clamp_token_indices,
        last_token_indices,
        clamp_token_ids,
        verify_indices,
        gather_draft_token_ids,
        accept_greedy,
        accept_sampled,
        token_positions,
        seq_lens,
        slot_mapping,
        prepare_step,
        commit_step,
        store_drafts,
        schedule_verify_lens,
        bound_query_lens,
    )
}


def evaluate(name: str, inputs: Record, static: dict[str, int]) -> Record:
    """The result of operation `name` as a dict of its fields, a single array under `out`.

    A donating form has the values of the plain one. Input for which the contract is silent is a ValueError.

    >>> import numpy as np
    >>> evaluate("cu_seqlens", {"query_lens": np.array([1, 4, 2], np.int32)}, {})["out"].tolist()
    [0, 1, 5, 7]
    """
    if not is_defined(name, inputs):
        raise ValueError(f"`{name}`: the contract leaves the values for this input open")
    result = _FUNCTIONS[name.removesuffix("_donated")](**inputs, **static)
    return result if isinstance(result, dict) else {"out": result}
