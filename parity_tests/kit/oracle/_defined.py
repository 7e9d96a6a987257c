"""For which inputs the contract says the values: where it is silent nothing can be compared."""

from itertools import pairwise

import numpy as np

from parity_tests.kit.oracle._int32 import INT_MAX
from parity_tests.kit.oracle._layout import row_lengths
from parity_tests.kit.oracle._positions import seq_lens
from parity_tests.kit.oracle._types import CuSeqlens, PerRow, Record
from parity_tests.kit.oracle._verify import verify_indices


def is_defined(name: str, inputs: Record) -> bool:
    """Whether the contract defines the values of operation `name` for `inputs` of the right dtypes and shapes.

    The prefix sum must have its form, `indices` and `inputs` must be what some legal step gives, and the
    slots that are written must be distinct. All other values are free.

    >>> is_defined("token_index_bound", {"cu_seqlens_q": np.array([0, 5, 3], np.int32)})
    False
    """
    if "cu_seqlens_q" in inputs and not _is_prefix_sum(inputs["cu_seqlens_q"].tolist()):
        return False
    if "indices" in inputs and not _is_of_a_step(inputs["indices"]):
        return False
    match name.removesuffix("_donated"):
        case "commit_step":
            writing = np.array(row_lengths(inputs["cu_seqlens_q"]), np.int32) > 0
            return _fits(inputs["inputs"], inputs["cu_seqlens_q"]) and _are_distinct(inputs, writing)
        case "store_drafts":
            return _are_distinct(inputs, np.full(len(inputs["slots"]), True))
    return True


def _is_prefix_sum(ends: list[int]) -> bool:
    return ends[0] == 0 and all(start <= stop for start, stop in pairwise(ends)) and ends[-1] <= INT_MAX


def _is_of_a_step(indices: Record) -> bool:
    """Whether `verify_indices` gives these for the shortest step that they can come from."""
    logits, first_logits = indices["logits_indices"].tolist(), indices["cu_num_logits"].tolist()
    if not _is_prefix_sum(first_logits) or first_logits[-1] > len(logits):
        return False
    ends = [0]
    for first, stop in pairwise(first_logits):
        ends.append(logits[stop - 1] + 1 if first < stop else ends[-1])
    return _is_prefix_sum(ends) and _are_indices_of(indices, np.array(ends, np.int32))


def _are_indices_of(indices: Record, cu_seqlens_q: CuSeqlens) -> bool:
    counts: PerRow = indices["num_draft_tokens"]
    columns = len(indices["target_logits_indices"]) // len(counts) if len(counts) else 0
    expected = verify_indices(cu_seqlens_q, counts, num_speculative_tokens=columns)
    return all(np.array_equal(indices[field], expected[field]) for field in expected)


def _fits(step_inputs: Record, cu_seqlens_q: CuSeqlens) -> bool:
    """Whether the fields of `StepInputs` that say how long the rows are agree with the prefix sum."""
    lens = seq_lens(cu_seqlens_q, step_inputs["num_computed_tokens"])
    return _are_indices_of(step_inputs["verify"], cu_seqlens_q) and np.array_equal(step_inputs["seq_lens"], lens)


def _are_distinct(inputs: Record, writing: np.ndarray) -> bool:
    slots = inputs["slots"]
    written = slots[writing & (slots >= 0) & (slots < len(inputs["state"]["anchor_token_ids"]))].tolist()
    return len(written) == len(set(written))
