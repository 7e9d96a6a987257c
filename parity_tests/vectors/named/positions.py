"""Section 7: positions, sequence lengths and slots of the cache."""

from functools import partial

from parity_tests.kit.named import CU, INT_MAX, INT_MIN, SGLANG, VLLM, Laid, case, empty, opened

T8 = {"capacity": 8}
T8_B4 = {"capacity": 8, "block_size": 4}
TABLES = [[5, 9, 2, 6], [7, 1, 4, 8], [11, 12, 13, 14]]
token_positions = partial(case, "token_positions")
seq_lens = partial(case, "seq_lens")
slot_mapping = partial(case, "slot_mapping")

CASES = (
    token_positions(
        "positions-running",
        "a shortened row keeps its first positions, the tail is 0",
        (CU, [10, 20, 30]),
        [10, 20, 21, 22, 23, 30, 31, 0],
        static={"capacity": 8},
    ),
    token_positions(
        "positions-not-rectangular",
        "per-row shifts spread over equal-width rows; the tail must not shift",
        ([0, 1, 5, 6], [15, 18, 39]),
        [15, 18, 19, 20, 21, 39, 0, 0],
        static={"capacity": 8},
        source=SGLANG + "38897",
    ),
    token_positions(
        "positions-empty-rows",
        "an empty row's count moves its neighbour",
        ([0, 0, 4, 4], [10, 20, 30]),
        [20, 21, 22, 23, 0, 0, 0, 0],
        static=T8,
    ),
    token_positions(
        "positions-truncated",
        "a row that does not fit is counted from its end",
        ([0, 1, 5, 20], [10, 20, 30]),
        [10, 20, 21, 22, 23, 30, 31, 32],
        static=T8,
    ),
    token_positions(
        "positions-wrap",
        "a position that saturates or is widened instead of wrapping",
        ([0, 2, 4, 6], [INT_MAX, INT_MAX - 1, INT_MIN]),
        [INT_MAX, INT_MIN, INT_MAX - 1, INT_MAX, INT_MIN, INT_MIN + 1, 0, 0],
        static=T8,
    ),
    token_positions(
        "positions-negative",
        "a negative count is clamped",
        ([0, 2, 4, 6], [-1, -5, 0]),
        [-1, 0, -5, -4, 0, 1, 0, 0],
        static=T8,
    ),
    token_positions(
        "positions-all-empty",
        "the tail of an empty step holds counts",
        ([0, 0, 0, 0], [10, 20, 30]),
        [0] * 8,
        static=T8,
    ),
    token_positions(
        "positions-far-total",
        "a row that ends at the largest int32 overflows",
        ([0, 1, 5, INT_MAX], [10, 20, 30]),
        [10, 20, 21, 22, 23, 30, 31, 32],
        static=T8,
    ),
    token_positions("positions-no-rows", "no rows to take a count from", ([0], []), [0] * 8, static=T8),
    token_positions("positions-no-capacity", "a buffer without tokens", (CU, [10, 20, 30]), [], static={"capacity": 0}),
    opened(
        "token_positions",
        "open-positions-wild",
        "a prefix sum of wild values",
        ([7, INT_MIN, INT_MAX, -5], [10, 20, 30]),
        static=T8,
    ),
    seq_lens(
        "lens-running", "length after this step, counted with the row's own tokens", (CU, [10, 20, 30]), [11, 24, 32]
    ),
    seq_lens(
        "lens-empty-row",
        "an empty row keeps its count: a padded row attends to a cache that is not its own",
        ([0, 0, 4, 4], [10, 20, 30]),
        [0, 24, 0],
    ),
    seq_lens(
        "lens-wrap",
        "a sum that saturates or is widened instead of wrapping",
        (CU, [INT_MAX, INT_MAX - 3, INT_MIN]),
        [INT_MIN, INT_MIN, INT_MIN + 2],
    ),
    seq_lens("lens-negative", "a negative count is clamped", (CU, [-1, -10, -2]), [0, -6, 0]),
    seq_lens("lens-all-empty", "an empty step", ([0, 0, 0, 0], [10, 20, 30]), [0, 0, 0]),
    seq_lens("lens-no-rows", "no rows", ([0], []), []),
    seq_lens("lens-chunk", "a prompt chunk counts its last token only", ([0, 6, 7, 8], [24, 20, 30]), [30, 21, 31]),
    opened("seq_lens", "open-lens-wild", "a prefix sum of wild values", ([7, INT_MIN, INT_MAX, -5], [10, 20, 30])),
    slot_mapping(
        "slots-running",
        "page times block size plus remainder",
        (CU, [10, 20, 30], [[5, 9, 2, 0, 0, 0, 0, 0], [7, 1, 4, 8, 3, 6, 0, 0], [2, 11, 12, 13, 14, 15, 16, 10]]),
        [10, 24, 25, 26, 27, 42, 43, -1],
        static={"capacity": 8, "block_size": 4},
    ),
    slot_mapping(
        "slots-past-table",
        "a position past the longest sequence overwrites a page of somebody else",
        ([0, 2, 3], [31, 4], [[1, 2, 3, 4, 5, 6, 7, 8], [21, 22, 23, 24, 25, 26, 27, 28]]),
        [35, -1, 88, -1],
        static={"capacity": 4, "block_size": 4},
        source=VLLM + "32628",
    ),
    slot_mapping(
        "slots-page-border",
        "a row that crosses a page keeps writing to the old one",
        ([0, 3, 5, 6], [3, 7, 11], TABLES),
        [23, 36, 37, 7, 16, 55, -1, -1],
        static=T8_B4,
    ),
    slot_mapping(
        "slots-negative-position",
        "a negative position wraps to the last page of the table",
        ([0, 2, 5, 6], [-1, -3, INT_MIN], TABLES),
        [-1, 20, -1, -1, -1, -1, -1, -1],
        static=T8_B4,
    ),
    slot_mapping(
        "slots-last-position",
        "the last position of the table is dropped, or the one behind it kept",
        ([0, 1, 3, 4], [15, 15, 16], TABLES),
        [27, 35, -1, -1, -1, -1, -1, -1],
        static=T8_B4,
    ),
    slot_mapping(
        "slots-wrapped-position",
        "a position that wraps is taken for a small one",
        ([0, 2, 4, 5], [INT_MAX, INT_MAX - 1, INT_MIN], TABLES),
        [-1] * 8,
        static=T8_B4,
    ),
    slot_mapping(
        "slots-unmapped-block",
        "block -1 gives slots below 0 other than -1, or those of the last page",
        ([0, 2, 4, 6], [0, 4, 8], [[-1, 9, 2, 6], [7, INT_MIN, 4, 8], [11, 12, -2, 14]]),
        [-1] * 8,
        static=T8_B4,
    ),
    slot_mapping(
        "slots-block-too-large",
        "a block whose slots do not fit int32 wraps to somebody's page",
        ([0, 2, 4, 6], [0, 0, 2], [[2**29 - 1, 0, 0, 0], [2**29, 0, 0, 0], [INT_MAX, 0, 0, 0]]),
        [INT_MAX - 3, INT_MAX - 2, -1, -1, -1, -1, -1, -1],
        static=T8_B4,
    ),
    slot_mapping(
        "slots-odd-block-size",
        "a block size that is no power of two, taken by shift and mask",
        ([0, 3, 5, 6], [2, 6, 0], [[5, 9], [7, 1], [2, 0]]),
        [17, 27, 28, -1, -1, 6, -1, -1],
        static={"capacity": 8, "block_size": 3},
    ),
    slot_mapping(
        "slots-block-size-one",
        "one token a page",
        ([0, 3, 5, 6], [0, 2, 3], TABLES),
        [5, 9, 2, 4, 8, 14, -1, -1],
        static={"capacity": 8, "block_size": 1},
    ),
    slot_mapping(
        "slots-largest-block-size",
        "one page that holds every position: block times size overflows",
        ([0, 2, 4, 6], [0, INT_MAX - 1, 5], [[0], [0], [1]]),
        [0, 1, INT_MAX - 1, -1, INT_MIN + 4, INT_MIN + 5, -1, -1],
        static={"capacity": 8, "block_size": INT_MAX},
    ),
    slot_mapping(
        "slots-zero-block",
        "block 0 is taken for none",
        ([0, 2, 4, 6], [0, 4, 8], [[0, 9, 2, 6], [7, 0, 4, 8], [11, 12, 0, 14]]),
        [0, 1, 0, 1, 0, 1, -1, -1],
        static=T8_B4,
    ),
    slot_mapping(
        "slots-no-columns",
        "a table without pages cannot be gathered from",
        (CU, [10, 20, 30], empty(3, 0)),
        [-1] * 8,
        static=T8_B4,
    ),
    slot_mapping("slots-no-rows", "no rows", ([0], [], empty(0, 4)), [-1] * 8, static=T8_B4),
    slot_mapping(
        "slots-no-capacity",
        "a buffer without tokens",
        (CU, [10, 20, 30], TABLES),
        [],
        static={"capacity": 0, "block_size": 4},
    ),
    slot_mapping(
        "slots-all-empty",
        "the tail writes to slot 0, somebody's page",
        ([0, 0, 0, 0], [0, 0, 0], TABLES),
        [-1] * 8,
        static=T8_B4,
    ),
    slot_mapping(
        "slots-empty-rows",
        "a row's page is looked up in its empty neighbour's table",
        ([0, 0, 4, 4], [0, 4, 8], TABLES),
        [4, 5, 6, 7, -1, -1, -1, -1],
        static=T8_B4,
    ),
    slot_mapping(
        "slots-truncated",
        "a row that does not fit",
        ([0, 5, 7, 20], [0, 4, 8], TABLES),
        [20, 21, 22, 23, 36, 4, 5, 52],
        static=T8_B4,
    ),
    slot_mapping(
        "slots-strided",
        "the block table is a view into a wider or transposed one",
        (CU, [3, 7, 11], Laid("transposed", TABLES)),
        [23, 7, 16, 17, 18, 55, 56, -1],
        static=T8_B4,
    ),
    slot_mapping(
        "slots-strided-columns",
        "the stride of the block table is taken for its width",
        (CU, [3, 7, 11], Laid("strided", TABLES)),
        [23, 7, 16, 17, 18, 55, 56, -1],
        static=T8_B4,
    ),
    opened(
        "slot_mapping",
        "open-slots-wild",
        "a prefix sum of wild values",
        ([7, INT_MIN, INT_MAX, -5], [INT_MIN, INT_MAX, -1], TABLES),
        static=T8_B4,
    ),
)
