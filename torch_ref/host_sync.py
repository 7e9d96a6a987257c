"""The "before": the same results the old way, with the host round trips that every step used to wait for.

A step (`assemble_input_ids`, then one of the bounds) copies the anchors and the drafts to the host, scatters them row
by row in Python, uploads the buffer once, and reads `int(cu_seqlens_q[-1])`: two copies down, one up, one item.

What the scheduler made on the host is best handed over as it is there: a CPU `cu_seqlens_q`, `source_rows` or staged
`input_ids` is read in place, whatever device the tables are on. One that is on a device costs one more copy down.
"""

from collections.abc import Iterable

import numpy as np
import torch
from jaxtyping import Int32
from torch import Tensor

from torch_ref._arguments import Argument, check_arrays, check_shapes, check_static
from torch_ref._assemble import assemble_arguments, overlay_arguments
from torch_ref._bounds import last_token_arguments
from torch_ref._types import CuSeqlens


def assemble_input_ids(
    cu_seqlens_q: CuSeqlens,
    anchor_token_ids: Int32[Tensor, " B"],
    draft_token_ids: Int32[Tensor, " B K"],
    *,
    capacity: int,
) -> Int32[Tensor, " T"]:
    """`torch_ref.assemble_input_ids` by way of the host.

        out = np.zeros(capacity, np.int32)
        for row in range(B):
            span = out[cu_seqlens_q[row] : cu_seqlens_q[row + 1]]
            span[: K + 1] = [anchor_token_ids[row], *draft_token_ids[row]][: len(span)]

    Args:
        cu_seqlens_q: `[B+1]` starts of the rows, then the total; on the CPU it costs no copy.
        anchor_token_ids: `[B]`, the token that each request produced last.
        draft_token_ids: `[B, K]`; ids are copied verbatim, negative ones included.
        capacity: `T`, size of the flat buffer in tokens; a total above it truncates.

    Returns:
        `[T]` token ids on the device of `anchor_token_ids`.

    Raises:
        ValueError: an array is not an int32 tensor, the shapes disagree, or `capacity` is no int of at least 0.

    >>> anchors = torch.tensor([100, 200], dtype=torch.int32)
    >>> drafts = torch.tensor([[11, 12], [21, 22]], dtype=torch.int32)
    >>> assemble_input_ids(torch.tensor([0, 1, 4], dtype=torch.int32), anchors, drafts, capacity=6).tolist()
    [100, 200, 21, 22, 0, 0]
    """
    rows = check_shapes(*assemble_arguments(cu_seqlens_q, anchor_token_ids, draft_token_ids))["B"]
    check_static("capacity", capacity, 0)
    buffer = np.zeros(capacity, np.int32)
    _write_rows(buffer, cu_seqlens_q.cpu().tolist(), range(rows), anchor_token_ids, draft_token_ids)
    return torch.from_numpy(buffer).to(anchor_token_ids.device)


def overlay_input_ids(
    input_ids: Int32[Tensor, " T"],
    cu_seqlens_q: CuSeqlens,
    source_rows: Int32[Tensor, " B"],
    anchor_token_ids: Int32[Tensor, " S"],
    draft_token_ids: Int32[Tensor, " S K"],
) -> Int32[Tensor, " T"]:
    """`torch_ref.overlay_input_ids` by way of the host.

        out = np.where(np.arange(T) < cu_seqlens_q[-1], input_ids, 0)
        for row in np.flatnonzero((0 <= source_rows) & (source_rows < S)):
            span = out[cu_seqlens_q[row] : cu_seqlens_q[row + 1]]
            ids = [anchor_token_ids[source_rows[row]], *draft_token_ids[source_rows[row]]]
            span[:] = [*ids, *np.zeros(T, np.int32)][: len(span)]

    Args:
        input_ids: `[T]` as staged; on the CPU it costs no copy, nor do the next two.
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.
        source_rows: `[B]`, the row of the tables that a carried row reads; out of `[0, S)` the row is not carried.
        anchor_token_ids: `[S]`, the token that each request produced last.
        draft_token_ids: `[S, K]`; ids are copied verbatim, negative ones included.

    Returns:
        `[T]` token ids on the device of `anchor_token_ids`.

    Raises:
        ValueError: an array is not an int32 tensor, or the shapes disagree.

    >>> staged, cu = torch.tensor([0, 0, 51, 52, 9], dtype=torch.int32), torch.tensor([0, 2, 4], dtype=torch.int32)
    >>> anchors, drafts = torch.tensor([100], dtype=torch.int32), torch.tensor([[11]], dtype=torch.int32)
    >>> overlay_input_ids(staged, cu, torch.tensor([0, -1], dtype=torch.int32), anchors, drafts).tolist()
    [100, 11, 51, 52, 0]
    """
    overlaid = _overlaid(input_ids, cu_seqlens_q, source_rows, anchor_token_ids, draft_token_ids)
    return overlaid.to(anchor_token_ids.device)


def overlay_input_ids_donated(
    input_ids: Int32[Tensor, " T"],
    cu_seqlens_q: CuSeqlens,
    source_rows: Int32[Tensor, " B"],
    anchor_token_ids: Int32[Tensor, " S"],
    draft_token_ids: Int32[Tensor, " S K"],
) -> Int32[Tensor, " T"]:
    """`overlay_input_ids`, written into `input_ids`.

        input_ids[:] = overlay_input_ids(input_ids, cu_seqlens_q, source_rows, anchor_token_ids, draft_token_ids)

    Args:
        input_ids: `[T]` as staged; overwritten.
        cu_seqlens_q: `[B+1]` starts of the rows, then the total; on the CPU it costs no copy, nor does the next one.
        source_rows: `[B]`, the row of the tables that a carried row reads; out of `[0, S)` the row is not carried.
        anchor_token_ids: `[S]`, the token that each request produced last.
        draft_token_ids: `[S, K]`; ids are copied verbatim, negative ones included.

    Returns:
        `input_ids` itself, on the device that it is on.

    Raises:
        ValueError: an array is not an int32 tensor, or the shapes disagree.

    >>> staged, cu = torch.tensor([0, 7], dtype=torch.int32), torch.tensor([0, 1], dtype=torch.int32)
    >>> anchors, drafts = torch.tensor([100], dtype=torch.int32), torch.tensor([[11]], dtype=torch.int32)
    >>> overlay_input_ids_donated(staged, cu, torch.tensor([0], dtype=torch.int32), anchors, drafts) is staged
    True
    """
    overlaid = _overlaid(input_ids, cu_seqlens_q, source_rows, anchor_token_ids, draft_token_ids)
    return input_ids.copy_(overlaid)


def token_index_bound(cu_seqlens_q: CuSeqlens) -> Int32[Tensor, ""]:
    """`torch_ref.token_index_bound` by way of the host.

        out = max(int(cu_seqlens_q[-1]), 1) - 1

    Args:
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.

    Returns:
        `[]`, a flat position.

    Raises:
        ValueError: `cu_seqlens_q` is not an int32 tensor of rank 1 with an entry.

    >>> token_index_bound(torch.tensor([0, 1, 5, 7], dtype=torch.int32)).tolist()
    6
    """
    check_shapes(Argument("cu_seqlens_q", cu_seqlens_q, "B+1"))
    return cu_seqlens_q.new_full((), _read_bound(cu_seqlens_q))


def clamp_token_indices(token_indices: Int32[Tensor, "*any"], cu_seqlens_q: CuSeqlens) -> Int32[Tensor, "*any"]:
    """`torch_ref.clamp_token_indices` by way of the host.

        bound = max(int(cu_seqlens_q[-1]), 1) - 1
        out = np.clip(token_indices, 0, bound)

    Args:
        token_indices: flat positions, any shape.
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.

    Returns:
        Flat positions of the same shape, on the device of `token_indices`.

    Raises:
        ValueError: an argument is not an int32 tensor, or `cu_seqlens_q` not of rank 1 with an entry.

    >>> cu = torch.tensor([0, 1, 5, 7], dtype=torch.int32)
    >>> clamp_token_indices(torch.tensor([-1, 3, 9], dtype=torch.int32), cu).tolist()
    [0, 3, 6]
    """
    check_shapes(Argument("cu_seqlens_q", cu_seqlens_q, "B+1"), Argument("token_indices", token_indices, "..."))
    return token_indices.clamp(0, _read_bound(cu_seqlens_q))


def last_token_indices(
    cu_seqlens_q: CuSeqlens, offsets: Int32[Tensor, " B"] | Int32[Tensor, ""]
) -> Int32[Tensor, " B"]:
    """`torch_ref.last_token_indices` by way of the host.

        bound = max(int(cu_seqlens_q[-1]), 1) - 1
        out = np.clip(cu_seqlens_q[1:] - offsets, 0, bound)

    Args:
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.
        offsets: `[B]`, or `[]` for all rows, tokens back from the row's end; on the device of `cu_seqlens_q`.

    Returns:
        `[B]` flat positions.

    Raises:
        ValueError: an argument is not an int32 tensor, or the shapes or devices do not fit.

    >>> cu = torch.tensor([0, 1, 5, 7], dtype=torch.int32)
    >>> last_token_indices(cu, torch.tensor([1, 3, 1], dtype=torch.int32)).tolist()
    [0, 2, 6]
    """
    check_arrays(*last_token_arguments(cu_seqlens_q, offsets))
    return clamp_token_indices(cu_seqlens_q[1:] - offsets, cu_seqlens_q)


def _read_bound(cu_seqlens_q: CuSeqlens) -> int:
    return max(int(cu_seqlens_q[-1]), 1) - 1


def _overlaid(
    input_ids: Int32[Tensor, " T"],
    cu_seqlens_q: CuSeqlens,
    source_rows: Int32[Tensor, " B"],
    anchor_token_ids: Int32[Tensor, " S"],
    draft_token_ids: Int32[Tensor, " S K"],
) -> Int32[Tensor, " T"]:
    """The overlaid ids, still on the host."""
    check_shapes(*overlay_arguments(input_ids, cu_seqlens_q, source_rows, anchor_token_ids, draft_token_ids))
    buffer, boundaries = input_ids.cpu().numpy().copy(), cu_seqlens_q.cpu().tolist()
    _write_rows(buffer, boundaries, source_rows.cpu().tolist(), anchor_token_ids, draft_token_ids)
    buffer[max(boundaries[-1], 0) :] = 0
    return torch.from_numpy(buffer)


def _write_rows(
    buffer: np.ndarray,
    boundaries: list[int],
    source_rows: Iterable[int],
    anchor_token_ids: Int32[Tensor, " S"],
    draft_token_ids: Int32[Tensor, " S K"],
) -> None:
    """The Python loop: every carried row of `buffer` from the tables, which it copies to the host."""
    anchors, drafts = anchor_token_ids.cpu().tolist(), draft_token_ids.cpu().tolist()
    for row, source in enumerate(source_rows):
        if 0 <= source < len(anchors):
            span = buffer[boundaries[row] : boundaries[row + 1]]
            ids = [anchors[source], *drafts[source]][: len(span)]
            span[: len(ids)] = ids
            span[len(ids) :] = 0
