"""Section 8: everything before the forward, in one call."""

from functools import partial

from parity_tests.kit.named import ANCHORS, CU, DRAFTS, INT_MAX, INT_MIN, Laid, case, empty, opened

B4 = {"block_size": 4}
STALE = [999] * 8
STATE = (ANCHORS, DRAFTS, [10, 20, 30])
TABLES = [[5, 9, 2, 0, 0, 0, 0, 0], [7, 1, 4, 8, 3, 6, 0, 0], [2, 11, 12, 13, 14, 15, 16, 10]]
ALL, NONE, ZERO = [0, 1, 2], [-1, -1, -1], [0, 0, 0]
prepare_step = partial(case, "prepare_step")

CASES = (
    prepare_step(
        "prepare-running",
        "the whole step over a dirty buffer",
        (STALE, CU, [0, 1, 2], [0, 3, 1], [0, 0, 0], STATE, TABLES),
        (
            [100, 200, 21, 22, 23, 300, 31, 0],
            [10, 20, 21, 22, 23, 30, 31, 0],
            [10, 20, 30],
            [11, 24, 32],
            [10, 24, 25, 26, 27, 42, 43, -1],
            ([0, 3, 1], [0, 3, 4], CU, [0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0], [1, 2, 3, 5, 0, 0, 0, 0, 0], [0, 4, 6]),
            [21, 22, 23, 31, -1, -1, -1, -1, -1],
        ),
        static=B4,
    ),
    prepare_step(
        "prepare-mixed",
        "a prompt chunk in front of a carried row: its ids and count are the staged ones, it verifies nothing",
        (
            [51, 52, 53, 0, 0, 9],
            [0, 3, 5],
            [-1, 0],
            [0, 1],
            [4, 0],
            ([200], [[21, 22, 23]], [20]),
            [[3, 8, 0, 0, 0, 0], [7, 1, 4, 8, 3, 6]],
        ),
        (
            [51, 52, 53, 200, 21, 0],
            [4, 5, 6, 20, 21, 0],
            [4, 20],
            [7, 22],
            [32, 33, 34, 24, 25, -1],
            ([0, 1], [0, 1], [0, 1, 3], [2, 3, 4, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [0, 2]),
            [21, -1, -1, -1, -1, -1],
        ),
        static=B4,
    ),
    prepare_step(
        "prepare-long-chunk",
        "a prompt chunk longer than K + 1 beside decode rows",
        ([51, 52, 53, 54, 55, 999, 999, 999], [0, 5, 6, 8], [-1, 1, 0], [0, 0, 1], [24, 0, 0], STATE, TABLES),
        static=B4,
    ),
    prepare_step(
        "prepare-resumed",
        "a resumed row is given the state of the request that had its slot",
        ([101, 999, 999, 102, 999, 999, 999, 999], [0, 1, 3, 4], [-1, 1, -1], [0, 1, 0], [3, 0, 5], STATE, TABLES),
        static=B4,
    ),
    prepare_step(
        "prepare-reordered",
        "counts and tokens are taken by batch position, or tables by slot",
        (STALE, CU, [2, 0, 1], [0, 3, 1], ZERO, STATE, TABLES),
        static=B4,
    ),
    prepare_step(
        "prepare-sits-out",
        "a request that sits out a step moves those behind it",
        (STALE, [0, 4, 6], [2, 0], [3, 1], [0, 0], STATE, TABLES[:2]),
        static=B4,
    ),
    prepare_step(
        "prepare-k-shrank",
        "the table is three wide, the step verifies one a row",
        (STALE, [0, 2, 4, 6], ALL, [1, 1, 1], ZERO, STATE, TABLES),
        static=B4,
    ),
    prepare_step(
        "prepare-stale-counts",
        "draft counts larger than the rows reach into the rows before them",
        (STALE, CU, ALL, [3, 3, 3], ZERO, STATE, TABLES),
        static=B4,
    ),
    prepare_step(
        "prepare-minus-one-drafts",
        "-1 drafts are made legal ids before verification sees them",
        (STALE, CU, ALL, [0, 3, 1], ZERO, (ANCHORS, [[-1] * 3] * 3, [10, 20, 30]), TABLES),
        static=B4,
    ),
    prepare_step(
        "prepare-speculation-off",
        "K = 0: one anchor a row",
        ([999] * 4, [0, 1, 2, 3], ALL, ZERO, ZERO, (ANCHORS, empty(3, 0), [10, 20, 30]), TABLES),
        static=B4,
    ),
    prepare_step(
        "prepare-all-empty",
        "an empty step leaves the last one's ids and slots",
        (STALE, [0, 0, 0, 0], ALL, [3, 3, 3], [1, 2, 3], STATE, TABLES),
        static=B4,
    ),
    prepare_step(
        "prepare-padded-rows",
        "padded rows are given lengths, slots or logits",
        (STALE, [0, 1, 3, 3, 3], [1, 0, -1, -1], [0, 1, 0, 0], [0] * 4, STATE, [*TABLES, [0] * 8]),
        static=B4,
    ),
    prepare_step("prepare-no-rows", "no rows", (STALE, [0], [], [], [], STATE, empty(0, 8)), static=B4),
    prepare_step(
        "prepare-no-capacity", "a buffer without tokens", ([], CU, ALL, [0, 3, 1], ZERO, STATE, TABLES), static=B4
    ),
    prepare_step(
        "prepare-no-slots",
        "an empty state cannot be gathered from",
        ([51, 52, 53, 54, 55, 56, 57, 58], CU, [0, -1, 1], [0, 0, 0], [1, 2, 3], ([], empty(0, 3), []), TABLES),
        static=B4,
    ),
    prepare_step(
        "prepare-no-columns",
        "a block table without pages cannot be gathered from",
        (STALE, CU, ALL, [0, 3, 1], ZERO, STATE, empty(3, 0)),
        static=B4,
    ),
    prepare_step(
        "prepare-more-slots",
        "a state with more rows than the batch",
        (
            STALE,
            [0, 2, 6],
            [4, 1],
            [1, 3],
            [0, 0],
            ([10, 20, 30, 40, 50], [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12], [13, 14, 15]], [1, 2, 3, 4, 5]),
            TABLES[:2],
        ),
        static=B4,
    ),
    prepare_step(
        "prepare-fewer-slots",
        "a state with fewer rows than the batch",
        (
            [51, 999, 999, 52, 999, 999, 999, 999],
            [0, 1, 3, 4],
            [-1, 0, -1],
            [0, 1, 0],
            [7, 0, 9],
            ([200], [[21, 22, 23]], [20]),
            TABLES,
        ),
        static=B4,
    ),
    prepare_step(
        "prepare-table-too-short",
        "positions past the table are given another page's slot",
        (STALE, CU, ALL, [0, 3, 1], ZERO, (ANCHORS, DRAFTS, [31, 30, 40]), TABLES),
        static=B4,
    ),
    prepare_step(
        "prepare-truncated",
        "the last row does not fit: its drafts are read from the buffer's end",
        ([999] * 6, [0, 1, 5, 8], ALL, [0, 3, 2], ZERO, STATE, TABLES),
        static=B4,
    ),
    prepare_step(
        "prepare-wild-sources",
        "source rows outside the state are clamped into it",
        ([51, 52, 53, 54, 55, 56, 57, 58], CU, [INT_MIN, INT_MAX, 3], [0, 0, 0], [1, 2, 3], STATE, TABLES),
        static=B4,
    ),
    prepare_step(
        "prepare-wild-values",
        "the extremes as ids, counts and blocks",
        (
            STALE,
            CU,
            ALL,
            [INT_MIN, INT_MAX, -1],
            ZERO,
            ([INT_MIN, INT_MAX, -1], [[INT_MAX] * 3, [INT_MIN] * 3, [-1] * 3], [INT_MAX, -2, INT_MIN]),
            [[INT_MAX] * 8, [INT_MIN, *[7] * 7], [-1] * 8],
        ),
        static=B4,
    ),
    prepare_step(
        "prepare-strided",
        "the state and the block table are views",
        (
            STALE,
            CU,
            [2, 0, 1],
            [0, 3, 1],
            ZERO,
            (Laid("strided", ANCHORS), Laid("transposed", DRAFTS), Laid("strided", [10, 20, 30])),
            Laid("transposed", TABLES),
        ),
        static=B4,
    ),
    opened(
        "prepare_step",
        "open-prepare-wild",
        "a prefix sum of wild values",
        (STALE, [7, INT_MIN, INT_MAX, -5], [INT_MIN, 2, 9], [INT_MAX, -1, 3], ZERO, STATE, TABLES),
        static=B4,
    ),
)
