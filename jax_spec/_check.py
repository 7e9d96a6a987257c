"""The checks of a step that need its values: for tests, debugging and admission, never for the hot path."""

import numpy as np
from jax.typing import ArrayLike

from jax_spec._arguments import LARGEST, check_static


def check_step(
    cu_seqlens_q: ArrayLike,
    *,
    capacity: int,
    num_speculative_tokens: int,
    source_rows: ArrayLike | None = None,
    num_slots: int | None = None,
    slots: ArrayLike | None = None,
    num_draft_tokens: ArrayLike | None = None,
    token_ids: ArrayLike | None = None,
    vocab_size: int | None = None,
) -> None:
    """Raises `ValueError` for a step whose result would be undefined or surely not what was meant.

    Equivalent NumPy:

        assert cu_seqlens_q[0] == 0 and (np.diff(cu_seqlens_q) >= 0).all() and cu_seqlens_q[-1] <= capacity
        assert (lens[carried] <= K + 1).all() and (num_draft_tokens == np.maximum(lens - 1, 0))[carried].all()
        assert all(-1 <= x < num_slots for x in (*source_rows, *slots)) and no slot but -1 twice
        assert all(-1 <= x < vocab_size for x in token_ids)

    Reads the arrays on the host, as they were handed over: an int64 id that JAX would narrow is seen. A check is left
    out where what it needs is not given.

    Args:
        cu_seqlens_q: exclusive prefix sum of the row lengths, `[B + 1]`, any integer type.
        capacity: positions of the flat buffer, T.
        num_speculative_tokens: K, the most drafts that a row can have.
        source_rows: row of the state that each row continues, `[B]`; -1 for none, else the row is carried.
        num_slots: rows of the state, S.
        slots: row of the state that each row writes, `[B]`; -1 for none.
        num_draft_tokens: drafts among each row's tokens, `[B]`.
        token_ids: ids of any shape.
        vocab_size: rows of the embedding table.

    Raises:
        ValueError: naming the argument, the index, the value there and what was expected.

    >>> check_step(np.array([0, 2, 1]), capacity=8, num_speculative_tokens=3)
    Traceback (most recent call last):
    ValueError: `cu_seqlens_q`: got 1 at index 2, expected at least 2, the entry before it
    """
    statics = {"num_slots": num_slots, "vocab_size": vocab_size}
    statics = {name: value for name, value in statics.items() if value is not None}
    statics |= {"capacity": capacity, "num_speculative_tokens": num_speculative_tokens}
    for name, value in statics.items():
        check_static(name, value)

    lens = _check_lens(_integers("cu_seqlens_q", cu_seqlens_q, 1), capacity)
    rows = {"source_rows": source_rows, "slots": slots, "num_draft_tokens": num_draft_tokens}
    rows = {name: _per_row(name, array, lens.size) for name, array in rows.items() if array is not None}
    for name in ("source_rows", "slots"):
        if name in rows:
            _refuse_outside(name, rows[name], LARGEST + 1 if num_slots is None else num_slots)
    if "slots" in rows:
        _check_distinct(rows["slots"])
    if "source_rows" in rows:
        _check_carried(lens, rows["source_rows"] >= 0, num_speculative_tokens, rows.get("num_draft_tokens"))
    if token_ids is not None:
        values = _integers("token_ids", token_ids)
        if vocab_size is not None:
            _refuse_outside("token_ids", values, vocab_size)


def _integers(name: str, array: object, rank: int | None = None) -> np.ndarray:
    """The values as int64, if all are int32; the rest of the module can then subtract and compare without wrapping."""
    if not hasattr(array, "__array__"):
        raise ValueError(f"`{name}`: got {type(array).__name__}, expected an array of integers")
    values = np.asarray(array)
    if values.dtype.kind not in "iu" or rank not in (None, values.ndim):
        wanted = "integers" if rank is None else f"integers along {rank} axis"
        raise ValueError(f"`{name}`: got {values.dtype.name}{list(values.shape)}, expected {wanted}")
    _refuse(name, values, (values < -LARGEST - 1) | (values > LARGEST), "an int32")
    return values.astype(np.int64)


def _per_row(name: str, array: object, rows: int) -> np.ndarray:
    values = _integers(name, array, 1)
    if values.size != rows:
        raise ValueError(f"`{name}`: got {values.size} rows, expected {rows}, one less than entries of `cu_seqlens_q`")
    return values


def _check_lens(cu_seqlens_q: np.ndarray, capacity: int) -> np.ndarray:
    if cu_seqlens_q.size == 0:
        raise ValueError("`cu_seqlens_q`: got no entries, expected one more than there are rows")
    _refuse("cu_seqlens_q", cu_seqlens_q[:1], cu_seqlens_q[:1] != 0, "0")
    lens = np.diff(cu_seqlens_q)
    for row in np.flatnonzero(lens < 0)[:1]:
        before, value = cu_seqlens_q[row : row + 2]
        raise ValueError(
            f"`cu_seqlens_q`: got {value} at index {row + 1}, expected at least {before}, the entry before it"
        )
    if cu_seqlens_q[-1] > capacity:
        raise ValueError(
            f"`cu_seqlens_q`: got {cu_seqlens_q[-1]} at index {lens.size}, expected at most `capacity` = {capacity}"
        )
    return lens


def _check_distinct(slots: np.ndarray) -> None:
    _, first = np.unique(slots, return_index=True)
    again = np.ones(slots.size, bool)
    again[first] = False
    _refuse("slots", slots, again & (slots >= 0), "each slot but -1 once")


def _check_carried(lens: np.ndarray, carried: np.ndarray, columns: int, drafts: np.ndarray | None) -> None:
    for row in np.flatnonzero(carried & (lens > columns + 1))[:1]:
        raise ValueError(
            f"`cu_seqlens_q`: got {lens[row]} tokens at row {row}, expected at most {columns + 1}, "
            f"`num_speculative_tokens` + 1: the row is carried (`source_rows`)"
        )
    if drafts is not None:
        wanted = np.maximum(lens - 1, 0)
        for row in np.flatnonzero(carried & (drafts != wanted))[:1]:
            raise ValueError(
                f"`num_draft_tokens`: got {drafts[row]} at index {row}, expected {wanted[row]}: "
                f"the row is carried (`source_rows`) and has {lens[row]} tokens"
            )


def _refuse_outside(name: str, values: np.ndarray, end: int) -> None:
    _refuse(name, values, (values < -1) | (values >= end), f"-1 to {end - 1}")


def _refuse(name: str, values: np.ndarray, bad: np.ndarray, expected: str) -> None:
    for index in np.argwhere(bad)[:1]:
        where = ", ".join(map(str, index))
        raise ValueError(f"`{name}`: got {values[tuple(index)]} at index {where}, expected {expected}")
