"""The ragged `input_ids`, assembled from anchors and drafts that never leave the device."""

import jax.numpy as jnp
from jaxtyping import Array, Int32

from jax_spec._arguments import operation
from jax_spec._layout import token_rows
from jax_spec._spans import pack, take
from jax_spec._types import TokenRows


@operation("capacity")
def assemble_input_ids(
    cu_seqlens_q: Int32[Array, " B1"],
    anchor_token_ids: Int32[Array, " B"],
    draft_token_ids: Int32[Array, "B K"],
    *,
    capacity: int,
) -> Int32[Array, " T"]:
    """Packs `[anchor, draft 0, draft 1, ...]` of every row, cut to its length, into one flat buffer.

    Equivalent NumPy:

        out = np.zeros(capacity, np.int32)
        for i, (a, b) in enumerate(itertools.pairwise(cu_seqlens_q)):
            ids = [anchor_token_ids[i], *draft_token_ids[i]][: b - a]
            out[a : a + len(ids)] = ids[: max(capacity - a, 0)]

    Args:
        cu_seqlens_q: exclusive prefix sum of the row lengths, int32 `[B + 1]`.
        anchor_token_ids: token that each row produced last, int32 `[B]`.
        draft_token_ids: drafts that follow it, int32 `[B, K]`; K may be 0.
        capacity: positions of the buffer, T; a total above it is truncated.

    Returns:
        int32 `[T]`: 0 behind a row's last draft and in the tail, which a captured graph reads too; ids are verbatim.

    Source: ROCm/ATOM, pull request "dspark perf optimization".

    >>> cu = jnp.array([0, 1, 5, 7], jnp.int32)
    >>> anchors = jnp.array([100, 200, 300], jnp.int32)
    >>> drafts = jnp.array([[11, 12, 13], [21, 22, 23], [31, 32, 33]], jnp.int32)
    >>> assemble_input_ids(cu, anchors, drafts, capacity=8).tolist()
    [100, 200, 21, 22, 23, 300, 31, 0]
    """
    return pack(_anchored(anchor_token_ids, draft_token_ids), cu_seqlens_q[:-1], cu_seqlens_q[1:], capacity)


@operation()
def overlay_input_ids(
    input_ids: Int32[Array, " T"],
    cu_seqlens_q: Int32[Array, " B1"],
    source_rows: Int32[Array, " B"],
    anchor_token_ids: Int32[Array, " S"],
    draft_token_ids: Int32[Array, "S K"],
) -> Int32[Array, " T"]:
    """Overwrites the spans of carried rows in a buffer that the host staged, and clears its tail.

    Equivalent NumPy:

        out = np.where(np.arange(T) < cu_seqlens_q[-1], input_ids, 0)
        for i in np.flatnonzero((0 <= source_rows) & (source_rows < S)):
            span = out[cu_seqlens_q[i] : cu_seqlens_q[i + 1]]
            ids = [anchor_token_ids[source_rows[i]], *draft_token_ids[source_rows[i]]]
            span[:] = [*ids, *np.zeros(T, np.int32)][: len(span)]

    Args:
        input_ids: prompt chunks and new requests in place, anything in the spans of carried rows, int32 `[T]`. The
            CPU may read a NumPy buffer after the call has returned: stage the next step in another one.
        cu_seqlens_q: exclusive prefix sum of the row lengths, int32 `[B + 1]`.
        source_rows: row of the tables that each row of the batch continues, int32 `[B]`; a row outside `0 .. S - 1`,
            such as -1, keeps what was staged.
        anchor_token_ids: token that each request produced last, int32 `[S]`.
        draft_token_ids: drafts that follow it, int32 `[S, K]`.

    Returns:
        int32 `[T]`, 0 at and above the total.

    Source: ROCm/ATOM, pull request "dspark perf optimization".

    >>> staged = jnp.array([0, 0, 501, 51, 9, 9], jnp.int32)
    >>> cu, source = jnp.array([0, 2, 4], jnp.int32), jnp.array([1, -1], jnp.int32)
    >>> anchors, drafts = jnp.array([100, 200], jnp.int32), jnp.array([[11], [21]], jnp.int32)
    >>> overlay_input_ids(staged, cu, source, anchors, drafts).tolist()
    [200, 21, 501, 51, 0, 0]
    """
    rows = token_rows(cu_seqlens_q, capacity=input_ids.size)
    return overlay_tokens(input_ids, rows, source_rows, anchor_token_ids, draft_token_ids)


@operation(donates="input_ids")
def overlay_input_ids_donated(
    input_ids: Int32[Array, " T"],
    cu_seqlens_q: Int32[Array, " B1"],
    source_rows: Int32[Array, " B"],
    anchor_token_ids: Int32[Array, " S"],
    draft_token_ids: Int32[Array, "S K"],
) -> Int32[Array, " T"]:
    """`overlay_input_ids` in place: the result takes over the buffer of `input_ids`, which can't be used again.

    >>> staged, cu = jnp.array([0, 9], jnp.int32), jnp.array([0, 1], jnp.int32)
    >>> source, anchors, drafts = (jnp.zeros(shape, jnp.int32) for shape in (1, 1, (1, 2)))
    >>> overlay_input_ids_donated(staged, cu, source, anchors + 7, drafts).tolist()
    [7, 0]
    >>> staged.is_deleted()
    True
    """
    return overlay_input_ids(input_ids, cu_seqlens_q, source_rows, anchor_token_ids, draft_token_ids)


@operation()
def overlay_rows(
    staged: Int32[Array, " B"], source_rows: Int32[Array, " B"], table: Int32[Array, " S"]
) -> Int32[Array, " B"]:
    """The choice of `overlay_input_ids` for one value a row.

    Equivalent NumPy:

        carried = (0 <= source_rows) & (source_rows < S)
        np.where(carried, table[np.where(carried, source_rows, 0)], staged)

    Args:
        staged: what the host knows, int32 `[B]`.
        source_rows: row of `table` to take instead, int32 `[B]`; outside `0 .. S - 1` none.
        table: what the device knows, int32 `[S]`.

    Returns:
        int32 `[B]`.

    >>> arrays = ([7, 7, 7], [1, -1, 2], [10, 20])
    >>> overlay_rows(*(jnp.array(x, jnp.int32) for x in arrays)).tolist()
    [20, 7, 7]
    """
    if table.size == 0:
        return staged
    value = take(table, jnp.clip(source_rows, 0, table.size - 1))
    return jnp.where(is_row_of(table, source_rows), value, staged)


def overlay_tokens(
    input_ids: Int32[Array, " T"],
    rows: TokenRows,
    source_rows: Int32[Array, " B"],
    anchor_token_ids: Int32[Array, " S"],
    draft_token_ids: Int32[Array, "S K"],
) -> Int32[Array, " T"]:
    """`overlay_input_ids` for rows that are located already."""
    if anchor_token_ids.size == 0:
        return jnp.where(rows.valid, input_ids, 0)
    table = _anchored(anchor_token_ids, draft_token_ids)
    width, flat = table.shape[1], table.ravel()
    first = jnp.where(is_row_of(table, source_rows), source_rows * width, -1)
    first = take(jnp.append(first, jnp.int32(-1)), rows.row)
    carried = take(flat, jnp.clip(first + rows.offset, 0, flat.size - 1))
    carried = jnp.where(rows.offset < width, carried, 0)
    return jnp.where(first >= 0, carried, jnp.where(rows.valid, input_ids, 0))


def is_row_of(table: Array, rows: Int32[Array, " B"]) -> Array:
    """Whether each of `rows` is one of `table`."""
    return (rows >= 0) & (rows < table.shape[0])


def _anchored(anchor_token_ids: Int32[Array, " S"], draft_token_ids: Int32[Array, "S K"]) -> Int32[Array, "S K1"]:
    return jnp.concatenate([anchor_token_ids[:, None], draft_token_ids], axis=1)
