"""Bounds without a host read: the last legal flat position, and indices and token ids clamped to what exists."""

import torch
from jaxtyping import Int32
from torch import Tensor

from torch_ref._arguments import Argument, check_arrays, check_static
from torch_ref._types import CuSeqlens


def token_index_bound(cu_seqlens_q: CuSeqlens) -> Int32[Tensor, ""]:
    """The last legal flat position, and 0 for an empty step.

        out = max(cu_seqlens_q[-1], 1) - 1

    Args:
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.

    Returns:
        `[]`, a flat position.

    Raises:
        ValueError: `cu_seqlens_q` is not an int32 tensor of rank 1 with an entry.

    Source: https://github.com/ROCm/ATOM/pull/1698, which read the total on the host.

    >>> token_index_bound(torch.tensor([0, 1, 5, 7], dtype=torch.int32)).tolist()
    6
    """
    check_arrays(Argument("cu_seqlens_q", cu_seqlens_q, "B+1"))
    return cu_seqlens_q[-1].clamp(min=1) - 1


def clamp_token_indices(token_indices: Int32[Tensor, "*any"], cu_seqlens_q: CuSeqlens) -> Int32[Tensor, "*any"]:
    """Flat positions clamped to the tokens of this step; an index into a neighbour's span is left alone.

        bound = max(cu_seqlens_q[-1], 1) - 1
        out = np.minimum(np.maximum(token_indices, 0), bound)

    Args:
        token_indices: flat positions, any shape.
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.

    Returns:
        Flat positions of the same shape; 0 everywhere for an empty step, never -1.

    Raises:
        ValueError: an argument is not an int32 tensor, or `cu_seqlens_q` not of rank 1 with an entry.

    >>> cu = torch.tensor([0, 1, 5, 7], dtype=torch.int32)
    >>> clamp_token_indices(torch.tensor([-1, 3, 9], dtype=torch.int32), cu).tolist()
    [0, 3, 6]
    """
    check_arrays(Argument("cu_seqlens_q", cu_seqlens_q, "B+1"), Argument("token_indices", token_indices, "..."))
    return torch.minimum(token_indices.clamp(min=0), token_index_bound(cu_seqlens_q))


def last_token_indices(
    cu_seqlens_q: CuSeqlens, offsets: Int32[Tensor, " B"] | Int32[Tensor, ""]
) -> Int32[Tensor, " B"]:
    """The flat position whose hidden state seeds the drafter, counted back from each row's end.

        bound = max(cu_seqlens_q[-1], 1) - 1
        out = np.clip(cu_seqlens_q[1:] - offsets, 0, bound)

    Args:
        cu_seqlens_q: `[B+1]` starts of the rows, then the total.
        offsets: `[B]`, or `[]` for all rows, tokens back from the row's end: 1 for the last token of a prompt chunk,
            `1 + num_rejected` for a verified row.

    Returns:
        `[B]` flat positions.

    Raises:
        ValueError: an argument is not an int32 tensor, or the shapes do not fit.

    >>> cu = torch.tensor([0, 1, 5, 7], dtype=torch.int32)
    >>> last_token_indices(cu, torch.tensor([1, 3, 1], dtype=torch.int32)).tolist()
    [0, 2, 6]
    """
    check_arrays(*last_token_arguments(cu_seqlens_q, offsets))
    return clamp_token_indices(cu_seqlens_q[1:] - offsets, cu_seqlens_q)


def clamp_token_ids(token_ids: Int32[Tensor, "*any"], *, vocab_size: int) -> Int32[Tensor, "*any"]:
    """Token ids clamped to the vocabulary, for the embedding lookup only: a draft of -1 must stay rejectable.

        out = np.clip(token_ids, 0, vocab_size - 1)

    Args:
        token_ids: token ids, any shape.
        vocab_size: rows of the embedding table.

    Returns:
        Token ids of the same shape.

    Raises:
        ValueError: `token_ids` is not an int32 tensor, or `vocab_size` no int of at least 1.

    >>> clamp_token_ids(torch.tensor([-1, 5, 1000], dtype=torch.int32), vocab_size=1000).tolist()
    [0, 5, 999]
    """
    check_arrays(Argument("token_ids", token_ids, "..."))
    check_static("vocab_size", vocab_size, 1)
    return token_ids.clamp(0, vocab_size - 1)


def last_token_arguments(cu_seqlens_q: object, offsets: object) -> tuple[Argument, ...]:
    """What `last_token_indices` expects of its arrays."""
    is_scalar = isinstance(offsets, Tensor) and offsets.ndim == 0
    shape = "" if is_scalar else "B"
    return Argument("cu_seqlens_q", cu_seqlens_q, "B+1"), Argument("offsets", offsets, shape)
