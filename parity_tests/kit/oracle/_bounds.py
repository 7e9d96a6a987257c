"""Section 5: indices and ids kept inside what they index."""

import numpy as np

from parity_tests.kit.oracle._int32 import wrap
from parity_tests.kit.oracle._types import AnyShape, CuSeqlens, PerRow, Scalar


def token_index_bound(cu_seqlens_q: CuSeqlens) -> Scalar:
    """The last legal flat position, 0 where there is none.

    >>> token_index_bound(np.array([0, 1, 5, 7], np.int32)).tolist()
    6
    """
    return np.array(max(cu_seqlens_q.tolist()[-1], 1) - 1, np.int32)


def clamp_token_indices(token_indices: AnyShape, cu_seqlens_q: CuSeqlens) -> AnyShape:
    """Indices below 0 become 0, those above the bound become the bound.

    >>> clamp_token_indices(np.array([-2, 4, 9], np.int32), np.array([0, 1, 5, 7], np.int32)).tolist()
    [0, 4, 6]
    """
    return np.asarray(np.minimum(np.maximum(token_indices, 0), token_index_bound(cu_seqlens_q)))


def last_token_indices(cu_seqlens_q: CuSeqlens, offsets: PerRow | Scalar) -> PerRow:
    """The flat position `offsets` tokens before the end of each row, clamped.

    >>> last_token_indices(np.array([0, 1, 5, 7], np.int32), np.array([1, 3, 1], np.int32)).tolist()
    [0, 2, 6]
    """
    ends = cu_seqlens_q.tolist()[1:]
    each_offset = np.broadcast_to(offsets, len(ends)).tolist()
    indices = [wrap(end - offset) for end, offset in zip(ends, each_offset, strict=True)]
    return clamp_token_indices(np.array(indices, np.int32), cu_seqlens_q)


def clamp_token_ids(token_ids: AnyShape, *, vocab_size: int) -> AnyShape:
    """Ids below 0 become 0, those past the vocabulary become its last id.

    >>> clamp_token_ids(np.array([-1, 5, 10], np.int32), vocab_size=10).tolist()
    [0, 5, 9]
    """
    return np.asarray(np.minimum(np.maximum(token_ids, 0), np.int32(vocab_size - 1)))
