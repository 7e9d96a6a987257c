"""Section 4: the flat buffer of token ids, and the choice between carried and staged rows."""

import numpy as np

from parity_tests.kit.oracle._layout import row_spans
from parity_tests.kit.oracle._types import CuSeqlens, PerRow, PerSlot, PerToken, RowDrafts, SlotDrafts


def assemble_input_ids(
    cu_seqlens_q: CuSeqlens, anchor_token_ids: PerRow, draft_token_ids: RowDrafts, *, capacity: int
) -> PerToken:
    """Each row's anchor and drafts in its span, 0 behind the last row.

    >>> cu, anchors = np.array([0, 1, 5, 7], np.int32), np.array([100, 200, 300], np.int32)
    >>> drafts = np.array([[11, 12, 13], [21, 22, 23], [31, 32, 33]], np.int32)
    >>> assemble_input_ids(cu, anchors, drafts, capacity=8).tolist()
    [100, 200, 21, 22, 23, 300, 31, 0]
    """
    ids = np.zeros(capacity, np.int32)
    anchors, drafts = anchor_token_ids.tolist(), draft_token_ids.tolist()
    for i, (start, stop) in enumerate(row_spans(cu_seqlens_q, capacity)):
        ids[start:stop] = _row_ids(anchors[i], drafts[i], stop - start)
    return ids


def overlay_input_ids(
    input_ids: PerToken,
    cu_seqlens_q: CuSeqlens,
    source_rows: PerRow,
    anchor_token_ids: PerSlot,
    draft_token_ids: SlotDrafts,
) -> PerToken:
    """The staged buffer with every carried row's span replaced by its anchor and drafts, 0 behind the last row.

    >>> staged, cu = np.array([9, 9, 51, 9], np.int32), np.array([0, 2, 3], np.int32)
    >>> anchors, drafts = np.array([100, 200], np.int32), np.array([[11], [21]], np.int32)
    >>> overlay_input_ids(staged, cu, np.array([1, -1], np.int32), anchors, drafts).tolist()
    [200, 21, 51, 0]
    """
    ids = input_ids.copy()
    anchors, drafts = anchor_token_ids.tolist(), draft_token_ids.tolist()
    spans = row_spans(cu_seqlens_q, len(ids))
    for source, (start, stop) in zip(source_rows.tolist(), spans, strict=True):
        if 0 <= source < len(anchors):
            ids[start:stop] = _row_ids(anchors[source], drafts[source], stop - start)
    ids[cu_seqlens_q[-1] :] = 0
    return ids


def overlay_rows(staged: PerRow, source_rows: PerRow, table: PerSlot) -> PerRow:
    """One value a row: from the table where the row is carried, else the staged one.

    >>> overlay_rows(np.array([7, 8], np.int32), np.array([1, -1], np.int32), np.array([11, 23], np.int32)).tolist()
    [23, 8]
    """
    values = staged.copy()
    for i, source in enumerate(source_rows.tolist()):
        if 0 <= source < len(table):
            values[i] = table[source]
    return values


def _row_ids(anchor: int, drafts: list[int], length: int) -> list[int]:
    return ([anchor, *drafts] + [0] * length)[:length]
