"""Section 4: continuous batching, where some rows are carried over and some are staged by the host."""

from functools import partial

from parity_tests.kit.named import ANCHORS, ATOM, CU, DRAFTS, INT_MAX, INT_MIN, JAX, VLLM, Laid, case, empty, opened

STAGED = [51, 52, 53, 54, 55, 56, 57, 58]
ALL = [0, 1, 2]
overlay_input_ids = partial(case, "overlay_input_ids")
overlay_input_ids_donated = partial(case, "overlay_input_ids_donated")
overlay_rows = partial(case, "overlay_rows")

CASES = (
    overlay_input_ids(
        "overlay-interleaved",
        "carried-over and new rows written as two blocks: a request gets its neighbour's anchor",
        (
            [0, 0, 501, 51, 0, 0, 502, 52, 0, 0, 9, 9],
            [0, 2, 4, 6, 8, 10],
            [0, -1, 1, -1, 2],
            ANCHORS,
            [[11], [21], [31]],
        ),
        [100, 11, 501, 51, 200, 21, 502, 52, 300, 31, 0, 0],
        source=ATOM + "1771",
    ),
    overlay_input_ids(
        "overlay-interleaved-new-first",
        "the same with a new row in front",
        (
            [501, 51, 0, 0, 502, 52, 0, 0, 503, 53, 9, 9],
            [0, 2, 4, 6, 8, 10],
            [-1, 0, -1, 1, -1],
            [100, 200],
            [[11], [21]],
        ),
        [501, 51, 100, 11, 502, 52, 200, 21, 503, 53, 0, 0],
        source=ATOM + "1771",
    ),
    overlay_input_ids(
        "overlay-new-block-first",
        "all new rows in front of all carried-over ones",
        ([501, 51, 502, 52, 0, 0, 0, 0, 0, 0], [0, 2, 4, 6, 8, 10], [-1, -1, 0, 1, 2], ANCHORS, [[11], [21], [31]]),
        [501, 51, 502, 52, 100, 11, 200, 21, 300, 31],
        source=ATOM + "1771",
    ),
    overlay_input_ids(
        "overlay-permuted",
        "a reordered batch read by batch position",
        ([0, 0, 0, 9], [0, 1, 2, 3], [2, 0, 1], [10, 20, 30], [[11], [21], [31]]),
        [30, 10, 20, 0],
        source=ATOM + "1771",
    ),
    overlay_input_ids(
        "overlay-resumed-first",
        "one carried row first, three new rows behind: a compact table indexed by batch position shifts by one",
        ([0, 0, 501, 51, 502, 52, 503, 53], [0, 2, 4, 6, 8], [0, -1, -1, -1], [100], [[11]]),
        [100, 11, 501, 51, 502, 52, 503, 53],
        source=ATOM + "1444",
    ),
    overlay_input_ids(
        "overlay-row-without-drafts",
        "the middle request has no drafts, so the last one reads the wrong table row",
        ([0, 0, 0, 0, 0, 0, 0, 0], [0, 3, 4, 7], [0, 1, 2], ANCHORS, [[11, 12], [0, 0], [31, 32]]),
        [100, 11, 12, 200, 300, 31, 32, 0],
        source=ATOM + "1771",
    ),
    overlay_input_ids(
        "overlay-stale-tail",
        "the replay is as large as the largest rank; stale ids of the last step stay in the tail",
        ([999, 999, 999, 999, 999, 999, 999, 999, 999, 999, 999, 999], CU, [0, 1, 2], ANCHORS, DRAFTS),
        [100, 200, 21, 22, 23, 300, 31, 0, 0, 0, 0, 0],
        source=ATOM + "1758",
    ),
    overlay_input_ids(
        "overlay-placeholders",
        "host placeholders of a carried-over row reach the model",
        ([101, -1, -1, 7], [0, 3], [0], [101], [[201, 202]]),
        [101, 201, 202, 0],
        source=VLLM + "37629",
    ),
    overlay_input_ids(
        "overlay-staged-verbatim",
        "a row without a previous step keeps what was staged, -1 included",
        ([101, -1, -1, 7], [0, 3], [-1], [55], [[201, 202]]),
        [101, -1, -1, 0],
        source=VLLM + "40768",
    ),
    overlay_input_ids(
        "overlay-reused-slot",
        "a new request inherits the anchor of the slot's previous owner",
        ([8, 999], [0, 1], [-1], [777], [[7, 7]]),
        [8, 0],
        source=VLLM + "39833",
    ),
    overlay_input_ids(
        "overlay-last-position",
        "a padding index of -1 wraps to the end and undoes the write there",
        ([10, 11, 12], [0, 1, 2, 3], [-1, -1, 0], [99], [[1]]),
        [10, 11, 99],
    ),
    overlay_input_ids(
        "overlay-source-out-of-range",
        "source rows past the table or below -1 are clamped or wrapped instead of ignored",
        ([1, 2, 3, 4, 5, 6], [0, 2, 4, 6], [3, -4, 1], ANCHORS, [[11], [21], [31]]),
        [1, 2, 3, 4, 200, 21],
    ),
    overlay_input_ids_donated(
        "overlay-donated",
        "the donating entry point gives the same result",
        ([0, 0, 601, 61, 9, 9], [0, 2, 4], [0, -1], [150], [[16]]),
        [150, 16, 601, 61, 0, 0],
        source=ATOM + "1771",
    ),
    overlay_input_ids(
        "overlay-none-carried",
        "a batch of prompt chunks is overwritten, or its tail kept",
        (STAGED, CU, [-1, -1, -1], ANCHORS, DRAFTS),
        [51, 52, 53, 54, 55, 56, 57, 0],
    ),
    overlay_input_ids(
        "overlay-same-source",
        "a row of the table is used once only",
        (STAGED, CU, [1, 1, 1], ANCHORS, DRAFTS),
        [200, 200, 21, 22, 23, 200, 21, 0],
    ),
    overlay_input_ids(
        "overlay-k-shrank",
        "the table is three wide, the step verifies one a row",
        (STAGED, [0, 2, 4, 6], [2, 1, 0], ANCHORS, DRAFTS),
        [300, 31, 200, 21, 100, 11, 0, 0],
    ),
    overlay_input_ids(
        "overlay-chunk-beside-rows",
        "a prompt chunk longer than the drafts beside carried rows is cut to their width",
        (STAGED, [0, 5, 6, 8], [-1, 2, 0], ANCHORS, DRAFTS),
        [51, 52, 53, 54, 55, 300, 100, 11],
    ),
    overlay_input_ids(
        "overlay-chunk-behind",
        "a long row in front moves the chunk behind it",
        (STAGED, [0, 1, 3, 8], [2, 0, -1], ANCHORS, DRAFTS),
        [300, 100, 11, 54, 55, 56, 57, 58],
    ),
    overlay_input_ids(
        "overlay-more-than-k",
        "a carried span keeps staged ids behind its last draft",
        (STAGED, [0, 6, 7, 7], [0, -1, 1], ANCHORS, DRAFTS),
        [100, 11, 12, 13, 0, 0, 57, 0],
    ),
    overlay_input_ids(
        "overlay-empty-rows",
        "an empty carried row writes its anchor into the row behind",
        (STAGED, [0, 0, 3, 3], [0, -1, 1], ANCHORS, DRAFTS),
        [51, 52, 53, 0, 0, 0, 0, 0],
    ),
    overlay_input_ids(
        "overlay-all-empty",
        "an empty step leaves the last step's ids",
        (STAGED, [0, 0, 0, 0], ALL, ANCHORS, DRAFTS),
        [0] * 8,
    ),
    overlay_input_ids(
        "overlay-truncated",
        "a carried row that does not fit is moved back over its neighbour",
        (STAGED, [0, 5, 7, 10], [-1, 1, 2], ANCHORS, DRAFTS),
        [51, 52, 53, 54, 55, 200, 21, 300],
    ),
    overlay_input_ids(
        "overlay-far-total",
        "a carried row that ends at the largest int32 overflows",
        (STAGED, [0, 1, 5, INT_MAX], ALL, ANCHORS, DRAFTS),
        [100, 200, 21, 22, 23, 300, 31, 32],
    ),
    overlay_input_ids(
        "overlay-extreme-sources",
        "the extremes as source rows wrap into the table",
        (STAGED, CU, [INT_MIN, INT_MAX, 0], ANCHORS, DRAFTS),
        [51, 52, 53, 54, 55, 100, 11, 0],
    ),
    overlay_input_ids(
        "overlay-extreme-ids",
        "ids of the table are clamped, or -1 keeps the staged one",
        (STAGED, [0, 2, 4, 6], ALL, [-1, INT_MIN, INT_MAX], [[-1, 0, 0], [INT_MIN, 0, 0], [INT_MAX, 0, 0]]),
        [-1, -1, INT_MIN, INT_MIN, INT_MAX, INT_MAX, 0, 0],
    ),
    overlay_input_ids(
        "overlay-no-slots",
        "an empty table cannot be gathered from",
        (STAGED, CU, [0, -1, 5], [], empty(0, 3)),
        [51, 52, 53, 54, 55, 56, 57, 0],
    ),
    overlay_input_ids(
        "overlay-no-rows", "no rows: the whole buffer is tail", (STAGED, [0], [], ANCHORS, DRAFTS), [0] * 8
    ),
    overlay_input_ids(
        "overlay-no-drafts",
        "speculation off: a longer carried row keeps a staged id behind its anchor",
        (STAGED, [0, 1, 2, 4], [1, -1, 0], ANCHORS, empty(3, 0)),
        [200, 52, 100, 0, 0, 0, 0, 0],
    ),
    overlay_input_ids("overlay-no-capacity", "a buffer without tokens", ([], CU, ALL, ANCHORS, DRAFTS), []),
    overlay_input_ids("overlay-nothing", "neither rows, slots, drafts nor tokens", ([], [0], [], [], empty(0, 0)), []),
    overlay_input_ids(
        "overlay-more-slots",
        "a table with more rows than the batch is read by batch position",
        (STAGED, [0, 2, 4], [4, 2], [10, 20, 30, 40, 50], [[11], [21], [31], [41], [51]]),
        [50, 51, 30, 31, 0, 0, 0, 0],
    ),
    overlay_input_ids(
        "overlay-fewer-slots",
        "a table with fewer rows than the batch repeats its last row",
        (STAGED, [0, 2, 4, 6], [1, 0, 2], [10, 20], [[11], [21]]),
        [20, 21, 10, 11, 55, 56, 0, 0],
    ),
    overlay_input_ids(
        "overlay-strided",
        "the staged buffer and the table are views",
        (Laid("strided", STAGED), CU, [2, -1, 0], ANCHORS, Laid("transposed", DRAFTS)),
        [300, 52, 53, 54, 55, 100, 11, 0],
    ),
    opened(
        "overlay_input_ids",
        "open-decreasing-overlay",
        "a decreasing prefix sum",
        (STAGED, [0, 5, 3, 7], ALL, ANCHORS, DRAFTS),
    ),
    opened(
        "overlay_input_ids",
        "open-wild-overlay",
        "a prefix sum of wild values",
        (STAGED, [7, INT_MIN, INT_MAX, -5], ALL, ANCHORS, DRAFTS),
    ),
    overlay_rows(
        "overlay-rows-drift",
        "a new row takes the value of a wrapped -1 lookup; a moved row keeps its optimistic count",
        ([0, 50], [1, -1], [11, 23]),
        [23, 50],
        source=VLLM + "32951",
    ),
    overlay_rows(
        "overlay-rows-modes",
        'clamp, wrap and fill of the default gathers all differ from "keep"',
        ([7, 7, 7, 7, 7, 7, 7], [-6, -5, -1, 0, 4, 5, 10], [0, 10, 20, 30, 40]),
        [7, 7, 7, 0, 40, 7, 7],
        source=JAX + "14193",
    ),
    overlay_rows(
        "overlay-rows-wrap",
        "a negative row is wrapped even by a filling gather",
        ([1, 2, 3], [-1, 4, -5], [10, 11, 12, 13, 14]),
        [1, 14, 3],
        source=JAX + "28998",
    ),
    overlay_rows(
        "overlay-rows-moved",
        "a reordered batch keeps the values of its positions",
        ([7, 8, 9], [2, 0, 1], [10, 20, 30]),
        [30, 10, 20],
    ),
    overlay_rows(
        "overlay-rows-extremes",
        "the extremes as source rows wrap into the table",
        ([7, 8, 9], [INT_MIN, INT_MAX, 3], [10, 20, 30]),
        [7, 8, 9],
    ),
    overlay_rows(
        "overlay-rows-extreme-values",
        "a value of the table is taken for a mark",
        ([7, 8, 9], [0, 1, -1], [-1, INT_MIN, INT_MAX]),
        [-1, INT_MIN, 9],
    ),
    overlay_rows(
        "overlay-rows-no-slots", "an empty table cannot be gathered from", ([7, 8, 9], [0, -1, 1], []), [7, 8, 9]
    ),
    overlay_rows("overlay-rows-none", "no rows", ([], [], [10, 20, 30]), []),
    overlay_rows("overlay-rows-nothing", "neither rows nor slots", ([], [], []), []),
    overlay_rows(
        "overlay-rows-one-slot",
        "a table of one row is broadcast to every row",
        ([7, 8, 9], [-1, 0, 1], [10]),
        [7, 10, 9],
    ),
)
