"""Checks for bad input on the host: for tests, debugging and admission, never for the hot path."""

from typing import Any

import numpy as np
import torch

from torch_ref._arguments import INT32_MAX, check_static

INT32_MIN = -INT32_MAX - 1


def check_step(
    cu_seqlens_q: Any,
    *,
    capacity: int,
    num_speculative_tokens: int,
    source_rows: Any = None,
    num_slots: int | None = None,
    slots: Any = None,
    num_draft_tokens: Any = None,
    token_ids: Any = None,
    vocab_size: int | None = None,
) -> None:
    """Raise for values that the operations would take without a word and turn into a wrong step.

        lens = np.diff(cu_seqlens_q)
        carried = source_rows >= 0
        assert cu_seqlens_q[0] == 0 and (lens >= 0).all() and cu_seqlens_q[-1] <= capacity
        assert (lens[carried] <= num_speculative_tokens + 1).all()

    Any integer dtype is taken, and looked at without narrowing: an int64 id that another framework would turn into
    another id is a fault. Copies what is on a device, and so waits for it.

    Args:
        cu_seqlens_q: `[B+1]` starts of the rows, then the total: from 0, never decreasing, at most `capacity`.
        capacity: `T`, size of the flat buffer in tokens.
        num_speculative_tokens: `K`; a carried row has at most `K + 1` tokens.
        source_rows: `[B]`, from -1 (not carried) to `num_slots - 1`.
        num_slots: `S`, rows of the state; without it rows and slots have no upper bound.
        slots: `[B]`, from -1 (none, may repeat) to `num_slots - 1`, each given once.
        num_draft_tokens: `[B]`; a carried row verifies all its tokens but the first.
        token_ids: ids of any shape, all of which have to be int32; with `vocab_size` also from -1.
        vocab_size: rows of the embedding table.

    Raises:
        ValueError: the first fault found, with the argument, the index, the value and what was expected.

    >>> cu_seqlens_q = torch.tensor([0, 2, 68], dtype=torch.int32)
    >>> check_step(cu_seqlens_q, capacity=70, num_speculative_tokens=1)
    >>> check_step(cu_seqlens_q, capacity=70, num_speculative_tokens=1, source_rows=np.array([0, 1]))
    Traceback (most recent call last):
    ValueError: `cu_seqlens_q` of carried row 1: got 66 tokens, expected at most `num_speculative_tokens` + 1 = 2
    """
    _check_statics(capacity, num_speculative_tokens, num_slots, vocab_size)
    lens = _row_lens(cu_seqlens_q, capacity)
    top_slot = INT32_MAX if num_slots is None else num_slots - 1
    if slots is not None:
        _check_distinct(_row_values("slots", slots, lens, -1, top_slot))
    drafts = None
    if num_draft_tokens is not None:
        drafts = _row_values("num_draft_tokens", num_draft_tokens, lens, INT32_MIN, INT32_MAX)
    if source_rows is not None:
        carried = _row_values("source_rows", source_rows, lens, -1, top_slot) >= 0
        _check_carried(lens, carried, drafts, num_speculative_tokens)
    if token_ids is not None:
        least, most = (INT32_MIN, INT32_MAX) if vocab_size is None else (-1, vocab_size - 1)
        _check_range("token_ids", _integers("token_ids", token_ids), least, most)


def _check_statics(capacity: int, num_speculative_tokens: int, num_slots: int | None, vocab_size: int | None) -> None:
    check_static("capacity", capacity, 0)
    check_static("num_speculative_tokens", num_speculative_tokens, 0)
    if num_slots is not None:
        check_static("num_slots", num_slots, 0)
    if vocab_size is not None:
        check_static("vocab_size", vocab_size, 1)


def _row_lens(cu_seqlens_q: Any, capacity: int) -> np.ndarray:
    """The row lengths of a prefix sum that is one and fits `capacity`."""
    starts = _integers("cu_seqlens_q", cu_seqlens_q)
    if starts.ndim != 1 or starts.size == 0:
        raise ValueError(f"`cu_seqlens_q`: got shape {list(starts.shape)}, expected [B+1]")
    _check_range("cu_seqlens_q", starts, INT32_MIN, INT32_MAX)
    starts = starts.astype(np.int64)
    if starts[0] != 0:
        raise ValueError(f"`cu_seqlens_q` at [0]: got {starts[0]}, expected 0")
    lens = np.diff(starts)
    for row in np.flatnonzero(lens < 0):
        reason = f"got {starts[row + 1]}, expected at least {starts[row]}, the value before it"
        raise ValueError(f"`cu_seqlens_q` at [{row + 1}]: {reason}")
    if starts[-1] > capacity:
        raise ValueError(f"`cu_seqlens_q` at [{lens.size}]: got {starts[-1]}, expected at most `capacity` = {capacity}")
    return lens


def _row_values(name: str, values: Any, lens: np.ndarray, least: int, most: int) -> np.ndarray:
    """One value a row, all from `least` to `most`."""
    array = _integers(name, values)
    if array.shape != lens.shape:
        reason = f"got shape {list(array.shape)}, expected [B] with B = {lens.size}, as in `cu_seqlens_q`"
        raise ValueError(f"`{name}`: {reason}")
    _check_range(name, array, least, most)
    return array.astype(np.int64)


def _check_distinct(slots: np.ndarray) -> None:
    first: dict[int, int] = {}
    for row, slot in enumerate(slots.tolist()):
        if slot >= 0 and first.setdefault(slot, row) != row:
            raise ValueError(f"`slots` at [{row}]: got {slot}, expected a slot other than that at [{first[slot]}]")


def _check_carried(lens: np.ndarray, carried: np.ndarray, drafts: np.ndarray | None, most_drafts: int) -> None:
    for row in np.flatnonzero(carried & (lens > most_drafts + 1)):
        reason = f"got {lens[row]} tokens, expected at most `num_speculative_tokens` + 1 = {most_drafts + 1}"
        raise ValueError(f"`cu_seqlens_q` of carried row {row}: {reason}")
    if drafts is None:
        return
    expected = np.maximum(lens - 1, 0)
    for row in np.flatnonzero(carried & (drafts != expected)):
        reason = f"got {drafts[row]}, expected {expected[row]} for a carried row of {lens[row]} tokens"
        raise ValueError(f"`num_draft_tokens` at [{row}]: {reason}")


def _check_range(name: str, array: np.ndarray, least: int, most: int) -> None:
    # In the array's own dtype: a cast would turn the value that is out of range into another one.
    for index in np.argwhere((array < least) | (array > most)):
        value = array[tuple(index)]
        raise ValueError(f"`{name}` at {index.tolist()}: got {value}, expected a value from {least} to {most}")


def _integers(name: str, values: Any) -> np.ndarray:
    """`values` on the host in their own dtype, which has to be one of integers."""
    if not hasattr(values, "__array__"):
        raise ValueError(f"`{name}`: got a value of type {type(values).__name__}, expected an array of integers")
    host = values.detach().cpu() if isinstance(values, torch.Tensor) else np.asarray(values)
    dtype = str(host.dtype).removeprefix("torch.")
    if not dtype.startswith(("int", "uint")):
        raise ValueError(f"`{name}`: got {dtype}{list(host.shape)}, expected an array of integers")
    return np.asarray(host)
