"""Section 6: which drafts are accepted, and what comes after them."""

from functools import partial

from parity_tests.kit.named import CU, INT_MAX, INT_MIN, VLLM, case, empty, indices_of, opened

# Rows of 0, 3 and 1 drafts, as in the running example; every place verified; and none.
RAGGED = indices_of(CU, [0, 3, 1], 3)
FULL = indices_of([0, 4, 8, 12], [3, 3, 3], 3)
EMPTY = indices_of([0, 0, 0, 0], [0, 0, 0], 3)
OFF = indices_of([0, 1, 1, 2], [0, 0, 0], 0)
NO_ROWS = indices_of([0], [], 3)
WILD = (
    [INT_MAX, 3, -1],
    [INT_MIN, 9, 9],
    [0, 9, -1, 99],
    [INT_MAX] * 12,
    [-1, 99, INT_MIN, INT_MAX, 0, 1, 2, 3, 4],
    [7, 8, 9],
)
YES = [True] * 9
accept_greedy = partial(case, "accept_greedy")
accept_sampled = partial(case, "accept_sampled")

CASES = (
    accept_greedy(
        "accept-running",
        "a match after the first mismatch is counted, or the bonus token is counted",
        (
            indices_of(CU, [0, 3, 1], 3),
            [21, 22, 23, 31, -1, -1, -1, -1, -1],
            [7, 21, 99, 98, 55, 31, 66, 0, 0, 0, 0, 0],
        ),
        ([0, 1, 1], [0, 2, 0], [7, 99, 66], [[7, -1, -1, -1], [21, 99, -1, -1], [31, 66, -1, -1]]),
    ),
    accept_greedy(
        "accept-all-and-none",
        "one row accepts everything and takes its bonus, one is rejected at once",
        (
            indices_of(CU, [0, 3, 1], 3),
            [21, 22, 23, 31, -1, -1, -1, -1, -1],
            [500, 21, 22, 23, 600, 30, 700, 0, 0, 0, 0, 0],
        ),
        ([0, 3, 0], [0, 0, 1], [500, 600, 30], [[500, -1, -1, -1], [21, 22, 23, 600], [30, -1, -1, -1]]),
    ),
    accept_greedy(
        "accept-past-verify-length",
        "a place that was not verified is credited because the next row's draft equals this row's bonus",
        (indices_of([0, 3, 7], [2, 3], 3), [5, 6, 5, 6, 0, -1], [5, 6, 5, 5, 9, 0, 4, 0]),
        ([2, 1], [0, 2], [5, 9], [[5, 6, 5, -1], [5, 9, -1, -1]]),
    ),
    accept_greedy(
        "accept-minus-one-draft",
        "a -1 draft must be rejected and replaced by the target's token",
        (indices_of([0, 2], [1], 1), [-1], [3, 1]),
        ([0], [1], [3], [[3, -1]]),
        source=VLLM + "46533",
    ),
    accept_greedy(
        "accept-after-a-mismatch",
        "matches behind the first mismatch are counted",
        (FULL, [1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 99, 3, 10, 99, 5, 6, 20, 7, 8, 99, 30]),
        ([1, 0, 2], [2, 3, 1], [99, 99, 99], [[1, 99, -1, -1], [99, -1, -1, -1], [7, 8, 99, -1]]),
    ),
    accept_greedy(
        "accept-everything",
        "the bonus token is dropped, or counted as a draft",
        (FULL, [1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 10, 4, 5, 6, 20, 7, 8, 9, 30]),
        ([3, 3, 3], [0, 0, 0], [10, 20, 30], [[1, 2, 3, 10], [4, 5, 6, 20], [7, 8, 9, 30]]),
    ),
    accept_greedy(
        "accept-nothing",
        "the token after a rejection at once is the draft",
        (FULL, [1, 2, 3, 4, 5, 6, 7, 8, 9], [91, 2, 3, 10, 92, 5, 6, 20, 93, 8, 9, 30]),
        ([0, 0, 0], [3, 3, 3], [91, 92, 93], [[91, -1, -1, -1], [92, -1, -1, -1], [93, -1, -1, -1]]),
    ),
    accept_greedy(
        "accept-negative-match",
        "a negative draft is accepted because the sampled id is the same",
        (FULL, [-1, 2, 3, 4, INT_MIN, 6, 7, 8, -7], [-1, 2, 3, 10, 4, INT_MIN, 6, 20, 7, 8, -7, 30]),
        ([0, 1, 2], [3, 2, 1], [-1, INT_MIN, -7], [[-1, -1, -1, -1], [4, INT_MIN, -1, -1], [7, 8, -7, -1]]),
    ),
    accept_greedy(
        "accept-extreme-ids",
        "equality by subtraction wraps at the extremes",
        (FULL, [INT_MAX, 2, 3, INT_MAX, 5, 6, 0, 0, 0], [INT_MAX, INT_MIN, 3, 10, INT_MIN, 5, 6, 20, 0, 0, 0, INT_MAX]),
        (
            [1, 0, 3],
            [2, 3, 0],
            [INT_MIN, INT_MIN, INT_MAX],
            [[INT_MAX, INT_MIN, -1, -1], [INT_MIN, -1, -1, -1], [0, 0, 0, INT_MAX]],
        ),
    ),
    accept_greedy(
        "accept-empty-row",
        "an empty row takes its neighbour's token",
        (indices_of([0, 4, 4, 6], [3, 0, 1], 3), [1, 2, 3, 4, -1, -1, -1, -1, -1], [1, 2, 3, 10, 4, 20] + [0] * 6),
        ([3, 0, 1], [0, 0, 0], [10, -1, 20], [[1, 2, 3, 10], [-1, -1, -1, -1], [4, 20, -1, -1]]),
    ),
    accept_greedy(
        "accept-all-empty",
        "an empty step accepts the padding",
        (EMPTY, [0] * 9, [0] * 12),
        ([0, 0, 0], [0, 0, 0], [-1, -1, -1], [[-1] * 4] * 3),
    ),
    accept_greedy(
        "accept-padding-match",
        "padding that equals the sampled padding is accepted",
        (RAGGED, [21, 22, 23, 31, 0, 0, 0, 0, 0], [7, 21, 22, 23, 55, 31] + [0] * 6),
        ([0, 3, 1], [0, 0, 0], [7, 55, 0], [[7, -1, -1, -1], [21, 22, 23, 55], [31, 0, -1, -1]]),
    ),
    accept_greedy(
        "accept-chunk-in-front",
        "a prompt chunk is charged its neighbour's drafts",
        (indices_of([0, 6, 9], [0, 2], 2), [21, 22, -1, -1], [7, 21, 22, 55, 0, 0]),
        ([0, 2], [0, 0], [7, 55], [[7, -1, -1], [21, 22, 55]]),
    ),
    accept_greedy(
        "accept-speculation-off",
        "K = 0: every row with tokens takes its sampled one",
        (OFF, [], [7, 8, 9]),
        ([0, 0, 0], [0, 0, 0], [7, -1, 8], [[7], [-1], [8]]),
    ),
    accept_greedy(
        "accept-no-rows",
        "no rows: K cannot be told and the output is one wide",
        (NO_ROWS, [], []),
        ([], [], [], empty(0, 1)),
    ),
    accept_greedy(
        "accept-rejections-of-short-rows",
        "rejections are counted against K instead of the row's own drafts",
        (RAGGED, [21, 22, 23, 31, -1, -1, -1, -1, -1], [7, 98, 98, 98, 55, 99, 66] + [0] * 5),
        ([0, 0, 0], [0, 3, 1], [7, 98, 99], [[7, -1, -1, -1], [98, -1, -1, -1], [99, -1, -1, -1]]),
    ),
    opened(
        "accept_greedy",
        "open-accept-wild",
        "indices that no step gives are followed out of the arrays",
        (WILD, [*range(9)], [*range(12)]),
    ),
    accept_sampled(
        "accept-sampled-running",
        "the run ends at the first rejection; the token after it is the recovered one of that place",
        (
            indices_of(CU, [0, 3, 1], 3),
            [21, 22, 23, 31, -1, -1, -1, -1, -1],
            [True, False, True, True, False, False, False, False, False],
            [7, 40, 41, 42, 43, 50, 66, 0, 0, 0, 0, 0],
        ),
        ([0, 1, 1], [0, 2, 0], [7, 41, 66], [[7, -1, -1, -1], [21, 41, -1, -1], [31, 66, -1, -1]]),
    ),
    accept_sampled(
        "accept-sampled-negative",
        "a sampler's yes to a -1 draft is believed",
        (FULL, [-1, 2, 3, 4, -5, 6, 7, 8, INT_MIN], YES, [*range(40, 52)]),
        ([0, 1, 2], [3, 2, 1], [40, 45, 50], [[40, -1, -1, -1], [4, 45, -1, -1], [7, 8, 50, -1]]),
    ),
    accept_sampled(
        "accept-sampled-padding",
        "a yes in the padding is counted",
        (RAGGED, [21, 22, 23, 31, 0, 0, 0, 0, 0], YES, [*range(40, 52)]),
        ([0, 3, 1], [0, 0, 0], [40, 44, 46], [[40, -1, -1, -1], [21, 22, 23, 44], [31, 46, -1, -1]]),
    ),
    accept_sampled(
        "accept-sampled-nothing",
        "a sampler's no is overruled by an equal token",
        (FULL, [*range(1, 10)], [False] * 9, [1, 2, 3, 10, 4, 5, 6, 20, 7, 8, 9, 30]),
        ([0, 0, 0], [3, 3, 3], [1, 4, 7], [[1, -1, -1, -1], [4, -1, -1, -1], [7, -1, -1, -1]]),
    ),
    accept_sampled(
        "accept-sampled-gap",
        "decisions behind the first no are summed up",
        (FULL, [*range(1, 10)], [True, False, True, False, True, True, True, True, False], [*range(40, 52)]),
        ([1, 0, 2], [2, 3, 1], [41, 44, 50], [[1, 41, -1, -1], [44, -1, -1, -1], [7, 8, 50, -1]]),
    ),
    accept_sampled(
        "accept-sampled-all-empty",
        "an empty step accepts the padding",
        (EMPTY, [0] * 9, YES, [0] * 12),
        ([0, 0, 0], [0, 0, 0], [-1, -1, -1], [[-1] * 4] * 3),
    ),
    accept_sampled(
        "accept-sampled-speculation-off",
        "K = 0: no decision to make",
        (OFF, [], [], [7, 8, 9]),
        ([0, 0, 0], [0, 0, 0], [7, -1, 8], [[7], [-1], [8]]),
    ),
    accept_sampled(
        "accept-sampled-no-rows",
        "no rows: K cannot be told and the output is one wide",
        (NO_ROWS, [], [], []),
        ([], [], [], empty(0, 1)),
    ),
    opened(
        "accept_sampled",
        "open-accept-sampled-wild",
        "indices that no step gives are followed out of the arrays",
        (WILD, [*range(9)], YES, [*range(12)]),
    ),
)
