"""Section 3: lengths, and which row owns a token."""

from functools import partial

from parity_tests.kit.named import CU, INT_MAX, INT_MIN, SGLANG, VLLM, Laid, case, fault, opened, typed

cu_seqlens = partial(case, "cu_seqlens")
token_rows = partial(case, "token_rows")

CASES = (
    cu_seqlens("cu-running", "an inclusive sum, or one entry too few", ([1, 4, 2],), CU),
    cu_seqlens(
        "cu-negative-filler",
        "a filler row whose length went negative pulls every later start back",
        ([1, 4, 2, -1],),
        [0, 1, 5, 7, 7],
    ),
    cu_seqlens(
        "cu-negative-middle", "a negative length in the middle shifts the rows after it", ([2, -1, 3],), [0, 2, 2, 5]
    ),
    cu_seqlens("cu-no-rows", "an empty batch has no last element to read", ([],), [0]),
    fault(
        "cu_seqlens",
        "error-float-lens",
        "a float array is promoted silently",
        (typed("float32", [1.0, 4.0, 2.0]),),
        "query_lens",
    ),
    cu_seqlens("cu-all-empty", "a length of at least one is assumed", ([0, 0, 0],), [0, 0, 0, 0]),
    cu_seqlens("cu-empty-ends", "empty rows at the ends are dropped", ([0, 4, 0],), [0, 0, 4, 4]),
    cu_seqlens("cu-one-row", "a single row is squeezed away", ([5],), [0, 5]),
    cu_seqlens("cu-int-min", "the lowest int32 has no negative of its own", ([INT_MIN, 4, INT_MIN],), [0, 0, 4, 4]),
    cu_seqlens(
        "cu-wraps",
        "a sum widened to 64 bits, or one that saturates",
        ([INT_MAX, 1, 1],),
        [0, INT_MAX, INT_MIN, INT_MIN + 1],
    ),
    cu_seqlens("cu-many-rows", "a blockwise scan loses its carry between blocks", ([i % 5 for i in range(70)],)),
    cu_seqlens(
        "cu-strided",
        "lengths that are a column of a wider table are read as if contiguous",
        (Laid("strided", [1, 4, 2]),),
        CU,
    ),
    token_rows(
        "rows-running",
        "plain ragged ownership with a padded tail",
        (CU,),
        ([0, 1, 1, 1, 1, 2, 2, 3], [0, 0, 1, 2, 3, 0, 1, 0], [True, True, True, True, True, True, True, False]),
        static={"capacity": 8},
    ),
    token_rows(
        "rows-zero-middle",
        "a left-side search gives an empty row the first token of its neighbour",
        ([0, 2, 2, 5],),
        ([0, 0, 2, 2, 2, 3], [0, 1, 0, 1, 2, 0], [True, True, True, True, True, False]),
        static={"capacity": 6},
        source=VLLM + "56451",
    ),
    token_rows(
        "rows-all-empty",
        "a repeat with a fixed total gives every slot to the last row when all rows are empty",
        ([0, 0, 0],),
        ([2, 2, 2, 2], [0, 0, 0, 0], [False, False, False, False]),
        static={"capacity": 4},
        source=SGLANG + "37472",
    ),
    token_rows(
        "rows-long-tail",
        "a repeat with a fixed total charges the whole tail to the last row",
        (CU,),
        (
            [0, 1, 1, 1, 1, 2, 2, 3, 3, 3],
            [0, 0, 1, 2, 3, 0, 1, 0, 0, 0],
            [True, True, True, True, True, True, True, False, False, False],
        ),
        static={"capacity": 10},
    ),
    token_rows(
        "rows-truncated",
        "a capacity below the total cuts the last rows and nothing else",
        (CU,),
        ([0, 1, 1, 1, 1], [0, 0, 1, 2, 3], [True, True, True, True, True]),
        static={"capacity": 5},
    ),
    token_rows(
        "rows-not-rectangular",
        "a ragged total that happens to divide by the batch is reshaped into equal rows",
        ([0, 1, 5, 6],),
        ([0, 1, 1, 1, 1, 2], [0, 0, 1, 2, 3, 0], [True, True, True, True, True, True]),
        static={"capacity": 6},
        source=SGLANG + "38897",
    ),
    fault(
        "token_rows", "error-rank", "a prefix sum of rank 2", ([[0, 1, 5, 7]],), "cu_seqlens_q", static={"capacity": 8}
    ),
    opened(
        "token_rows",
        "open-decreasing-rows",
        "a decreasing prefix sum must not raise",
        ([0, 5, 3, 7],),
        static={"capacity": 8},
    ),
    token_rows(
        "rows-exact-fit",
        "the last row is cut short when there is no tail",
        ([0, 1, 5, 8],),
        ([0, 1, 1, 1, 1, 2, 2, 2], [0, 0, 1, 2, 3, 0, 1, 2], [True] * 8),
        static={"capacity": 8},
    ),
    token_rows(
        "rows-empty-first",
        "an empty first row owns the first token",
        ([0, 0, 3, 4],),
        ([1, 1, 1, 2, 3, 3, 3, 3], [0, 1, 2, 0, 0, 0, 0, 0], [True] * 4 + [False] * 4),
        static={"capacity": 8},
    ),
    token_rows(
        "rows-empty-last",
        "an empty last row owns the tail",
        ([0, 1, 4, 4],),
        ([0, 1, 1, 1, 3, 3, 3, 3], [0, 0, 1, 2, 0, 0, 0, 0], [True] * 4 + [False] * 4),
        static={"capacity": 8},
    ),
    token_rows(
        "rows-empty-run",
        "a histogram of starts adds up several empty rows to one",
        ([0, 1, 1, 1, 1, 3],),
        ([0, 4, 4, 5], [0, 0, 1, 0], [True] * 3 + [False]),
        static={"capacity": 4},
    ),
    token_rows(
        "rows-padded",
        "padded rows that repeat the total change the row of the tail",
        ([0, 1, 5, 7, 7, 7],),
        ([0, 1, 1, 1, 1, 2, 2, 5], [0, 0, 1, 2, 3, 0, 1, 0], [True] * 7 + [False]),
        static={"capacity": 8},
    ),
    token_rows(
        "rows-none",
        "no rows: the tail has no last row to fall back on",
        ([0],),
        ([0] * 4, [0] * 4, [False] * 4),
        static={"capacity": 4},
    ),
    token_rows("rows-no-capacity", "a buffer without tokens", (CU,), ([], [], []), static={"capacity": 0}),
    token_rows("rows-none-no-capacity", "neither rows nor tokens", ([0],), ([], [], []), static={"capacity": 0}),
    token_rows(
        "rows-one-row",
        "one row, as a search over a single boundary",
        ([0, 7],),
        ([0] * 7 + [1], [*range(7), 0], [True] * 7 + [False]),
        static={"capacity": 8},
    ),
    token_rows(
        "rows-far-total",
        "a row that ends at the largest int32 overflows",
        ([0, 1, 5, INT_MAX],),
        ([0, 1, 1, 1, 1, 2, 2, 2], [0, 0, 1, 2, 3, 0, 1, 2], [True] * 8),
        static={"capacity": 8},
    ),
    token_rows(
        "rows-start-past-capacity",
        "rows that start past the capacity are scattered to its end",
        ([0, 8, 100, INT_MAX],),
        ([0] * 8, [*range(8)], [True] * 8),
        static={"capacity": 8},
    ),
    token_rows(
        "rows-start-at-last",
        "a row whose only token is the last of the buffer",
        ([0, 7, 8, 9],),
        ([0] * 7 + [1], [*range(7), 0], [True] * 8),
        static={"capacity": 8},
    ),
    token_rows(
        "rows-many",
        "a search with a fixed number of rounds runs out of rows",
        ([3 * i // 2 for i in range(71)],),
        static={"capacity": 128},
    ),
    opened(
        "token_rows",
        "open-negative-start",
        "a prefix sum that starts below 0",
        ([-3, 1, 5, 7],),
        static={"capacity": 8},
    ),
    opened(
        "token_rows", "open-late-start", "a prefix sum that starts above 0", ([2, 3, 5, 7],), static={"capacity": 8}
    ),
    opened("token_rows", "open-negative-total", "a total below 0", ([0, 1, 5, -7],), static={"capacity": 8}),
    opened(
        "token_rows",
        "open-extremes",
        "differences of the extremes wrap",
        ([INT_MIN, INT_MAX, INT_MIN, INT_MAX],),
        static={"capacity": 8},
    ),
)
