"""Section 3: from lengths to the flat buffer."""

from itertools import pairwise

import numpy as np
from jaxtyping import Int32

from parity_tests.kit.oracle._int32 import wrap
from parity_tests.kit.oracle._types import CuSeqlens, Record


def row_lengths(cu_seqlens_q: CuSeqlens) -> list[int]:
    """`len_i` of every row.

    >>> row_lengths(np.array([0, 1, 5, 7], np.int32))
    [1, 4, 2]
    """
    return [max(stop - start, 0) for start, stop in pairwise(cu_seqlens_q.tolist())]


def row_spans(cu_seqlens_q: CuSeqlens, capacity: int) -> list[tuple[int, int]]:
    """First and one past last flat position of every row, cut to the `capacity` of the buffer.

    >>> row_spans(np.array([0, 1, 5, 7], np.int32), 4)
    [(0, 1), (1, 4), (4, 4)]
    """
    return list(pairwise(min(position, capacity) for position in cu_seqlens_q.tolist()))


def cu_seqlens(query_lens: Int32[np.ndarray, " B"]) -> CuSeqlens:
    """Exclusive prefix sum of the lengths, a negative one counted as 0.

    >>> cu_seqlens(np.array([1, 4, 2], np.int32)).tolist()
    [0, 1, 5, 7]
    """
    ends = [0]
    for length in query_lens.tolist():
        ends.append(wrap(ends[-1] + max(length, 0)))
    return np.array(ends, np.int32)


def token_rows(cu_seqlens_q: CuSeqlens, *, capacity: int) -> Record:
    """The row that owns each flat position, the place in that row, and whether a row owns it at all.

    >>> rows = token_rows(np.array([0, 1, 5, 7], np.int32), capacity=8)
    >>> rows["row"].tolist(), rows["offset"].tolist()
    ([0, 1, 1, 1, 1, 2, 2, 3], [0, 0, 1, 2, 3, 0, 1, 0])
    """
    batch = len(cu_seqlens_q) - 1
    row = np.full(capacity, batch, np.int32)
    offset = np.zeros(capacity, np.int32)
    valid = np.zeros(capacity, np.bool_)
    for i, (start, stop) in enumerate(row_spans(cu_seqlens_q, capacity)):
        row[start:stop] = i
        offset[start:stop] = range(stop - start)
        valid[start:stop] = True
    return {"row": row, "offset": offset, "valid": valid}
