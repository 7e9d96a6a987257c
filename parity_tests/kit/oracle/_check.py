"""Section 9: what a debugging run says about a faulty step."""

from itertools import pairwise
from typing import Any

import numpy as np

from parity_tests.kit.oracle._int32 import INT_MAX


def check_step(
    cu_seqlens_q: np.ndarray,
    *,
    capacity: int,
    num_speculative_tokens: int,
    source_rows: np.ndarray | None = None,
    num_slots: int | None = None,
    slots: np.ndarray | None = None,
    num_draft_tokens: np.ndarray | None = None,
    token_ids: np.ndarray | None = None,
    vocab_size: int | None = None,
) -> None:
    """Raise ValueError at the first fault of the step: argument, flat index, value and what was expected.

    Any integer dtype is taken, but every value must fit int32: what does not would become another number there.

    >>> check_step(np.array([0, 2, 1], np.int32), capacity=8, num_speculative_tokens=3)
    Traceback (most recent call last):
    ValueError: `cu_seqlens_q`: got 1 at index 2, expected at least the entry before it, 2
    """
    _check_statics(capacity, num_speculative_tokens, num_slots, vocab_size)
    lengths = _checked_lengths(cu_seqlens_q, capacity)
    sources = _row_values("source_rows", source_rows, len(lengths))
    targets = _row_values("slots", slots, len(lengths))
    counts = _row_values("num_draft_tokens", num_draft_tokens, len(lengths))
    _check_range("source_rows", sources, "num_slots", num_slots)
    _check_range("slots", targets, "num_slots", num_slots)
    _check_distinct(targets)
    carried = [i for i, source in enumerate(sources) if source >= 0]
    _check_carried_lengths(carried, lengths, num_speculative_tokens)
    if num_draft_tokens is not None:
        _check_carried_counts(carried, lengths, counts)
    ids = [] if token_ids is None else _int32_values("token_ids", token_ids)
    if vocab_size is not None:
        _check_range("token_ids", ids, "vocab_size", vocab_size)


def _check_statics(capacity: Any, num_speculative_tokens: Any, num_slots: Any, vocab_size: Any) -> None:
    statics = [("capacity", capacity, 0), ("num_speculative_tokens", num_speculative_tokens, 0)]
    optional = [("num_slots", num_slots, 0), ("vocab_size", vocab_size, 1)]
    for name, value, least in statics + [entry for entry in optional if entry[1] is not None]:
        if type(value) is not int or not least <= value <= INT_MAX:
            raise ValueError(f"`{name}`: got {value!r}, expected a Python int of {least} to {INT_MAX}")


def _checked_lengths(cu_seqlens_q: Any, capacity: int) -> list[int]:
    ends = _int32_values("cu_seqlens_q", cu_seqlens_q)
    if cu_seqlens_q.ndim != 1 or not ends:
        raise _array_fault("cu_seqlens_q", cu_seqlens_q, "an integer array of shape [B+1]")
    if ends[0] != 0:
        raise _fault("cu_seqlens_q", 0, ends[0], "0")
    for i, (start, stop) in enumerate(pairwise(ends)):
        if stop < start:
            raise _fault("cu_seqlens_q", i + 1, stop, f"at least the entry before it, {start}")
    if ends[-1] > capacity:
        raise _fault("cu_seqlens_q", len(ends) - 1, ends[-1], f"a total of at most `capacity`, {capacity}")
    return [stop - start for start, stop in pairwise(ends)]


def _row_values(name: str, array: Any, batch: int) -> list[int]:
    """One value a row; none where the array was not given."""
    if array is None:
        return []
    values = _int32_values(name, array)
    if array.shape != (batch,):
        raise _array_fault(name, array, f"an integer array of shape [B], [{batch}] as `cu_seqlens_q` has it")
    return values


def _int32_values(name: str, array: Any) -> list[int]:
    """The values in flat order as Python ints, which hold any integer dtype's without narrowing."""
    if not isinstance(array, np.ndarray):
        raise ValueError(f"`{name}`: got {type(array).__name__}, expected an integer array")
    if array.dtype.kind not in "iu":
        raise _array_fault(name, array, "an integer array")
    values = array.ravel().tolist()
    for place, value in enumerate(values):
        if not -INT_MAX - 1 <= value <= INT_MAX:
            raise _fault(name, place, value, "a value that fits int32")
    return values


def _check_range(name: str, values: list[int], limit_name: str, limit: int | None) -> None:
    expected = "at least -1" if limit is None else f"-1 .. `{limit_name}` - 1 = {limit - 1}"
    for place, value in enumerate(values):
        if value < -1 or (limit is not None and value >= limit):
            raise _fault(name, place, value, expected)


def _check_distinct(slots: list[int]) -> None:
    for i, slot in enumerate(slots):
        if slot >= 0 and slot in slots[:i]:
            raise _fault("slots", i, slot, f"a slot that no other row has, but row {slots.index(slot)} has it")


def _check_carried_lengths(carried: list[int], lengths: list[int], num_speculative_tokens: int) -> None:
    for i in carried:
        if lengths[i] > num_speculative_tokens + 1:
            expected = f"at most `num_speculative_tokens` + 1 = {num_speculative_tokens + 1} in a carried row"
            raise ValueError(f"`cu_seqlens_q`: got a length of {lengths[i]} in row {i}, expected {expected}")


def _check_carried_counts(carried: list[int], lengths: list[int], counts: list[int]) -> None:
    for i in carried:
        drafts = max(lengths[i] - 1, 0)
        if counts[i] != drafts:
            raise _fault("num_draft_tokens", i, counts[i], f"{drafts} in a carried row of length {lengths[i]}")


def _fault(name: str, place: int, value: int, expected: str) -> ValueError:
    return ValueError(f"`{name}`: got {value} at index {place}, expected {expected}")


def _array_fault(name: str, array: np.ndarray, expected: str) -> ValueError:
    return ValueError(f"`{name}`: got {array.dtype}{list(array.shape)}, expected {expected}")
