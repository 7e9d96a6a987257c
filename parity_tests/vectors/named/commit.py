"""Section 8: everything after the forward, in two calls."""

from functools import partial

from parity_tests.kit.named import ANCHORS, CU, DRAFTS, INT_MAX, INT_MIN, Given, Laid, case, empty, opened, prepared

STATE = (ANCHORS, DRAFTS, [10, 20, 30])
ALL, ZERO = [0, 1, 2], [0, 0, 0]
NEW = [[41, 42, 43], [51, 52, 53], [61, 62, 63]]
# What the target says in the running example: one row without drafts, one cut after its first, one taken whole.
SAMPLED = [7, 21, 99, 98, 55, 31, 66, 0, 0, 0, 0, 0]


def _step(
    cu: list[int], sources: list[int], drafts: list[int], staged: list[int] = ZERO, state: Given = STATE
) -> Given:
    """The `StepInputs` of a step with eight tokens and pages of four."""
    rows = len(sources)
    return prepared(([51, 52, 53, 54, 55, 56, 57, 58], cu, sources, drafts, staged, state, empty(rows, 8)), 4)


RUNNING = _step(CU, ALL, [0, 3, 1])
OFF = (ANCHORS, empty(3, 0), [10, 20, 30])
commit_step = partial(case, "commit_step")
store_drafts = partial(case, "store_drafts")

CASES = (
    commit_step(
        "commit-running",
        "what the next step starts from",
        (
            STATE,
            (
                [100, 200, 21, 22, 23, 300, 31, 0],
                [10, 20, 21, 22, 23, 30, 31, 0],
                [10, 20, 30],
                [11, 24, 32],
                [10, 24, 25, 26, 27, 42, 43, -1],
                (
                    [0, 3, 1],
                    [0, 3, 4],
                    CU,
                    [0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0],
                    [1, 2, 3, 5, 0, 0, 0, 0, 0],
                    [0, 4, 6],
                ),
                [21, 22, 23, 31, -1, -1, -1, -1, -1],
            ),
            CU,
            [0, 1, 2],
            [7, 21, 99, 98, 55, 31, 66, 0, 0, 0, 0, 0],
        ),
        (
            ([0, 1, 1], [0, 2, 0], [7, 99, 66], [[7, -1, -1, -1], [21, 99, -1, -1], [31, 66, -1, -1]]),
            [0, 2, 6],
            ([7, 99, 66], DRAFTS, [11, 22, 32]),
        ),
    ),
    commit_step(
        "commit-sits-out",
        "the slot of a request that sits out is written",
        (
            (ANCHORS, DRAFTS, [10, 20, 30]),
            _step([0, 4, 6], [2, 0], [3, 1], [0, 0]),
            [0, 4, 6],
            [2, 0],
            [31, 32, 33, 70, 11, 80, 0, 0],
        ),
        (
            ([3, 1], [0, 0], [70, 80], [[31, 32, 33, 70], [11, 80, -1, -1]]),
            [3, 5],
            ([80, 200, 70], DRAFTS, [12, 20, 34]),
        ),
    ),
    commit_step(
        "commit-without-slots",
        "a row without a slot wraps to the last one",
        (STATE, RUNNING, CU, [-1, -1, -1], SAMPLED),
    ),
    commit_step(
        "commit-one-without-slot",
        "slot -1 shifts the slots of the rows behind it",
        (STATE, RUNNING, CU, [2, -1, 0], SAMPLED),
    ),
    commit_step(
        "commit-slots-out-of-range",
        "slots outside the state are clamped into it",
        (STATE, RUNNING, CU, [3, INT_MAX, INT_MIN], SAMPLED),
    ),
    commit_step(
        "commit-reordered",
        "results are written by batch position",
        (STATE, _step(CU, [2, 0, 1], [0, 3, 1]), CU, [2, 0, 1], SAMPLED),
    ),
    commit_step(
        "commit-empty-row",
        "an empty row that holds a slot overwrites its anchor with -1",
        (STATE, _step([0, 1, 1, 3], ALL, [0, 0, 1]), [0, 1, 1, 3], ALL, [7, 31, 66] + [0] * 9),
    ),
    commit_step(
        "commit-all-empty",
        "an empty step writes the state",
        (STATE, _step([0, 0, 0, 0], ALL, ZERO), [0, 0, 0, 0], ALL, [0] * 12),
    ),
    commit_step(
        "commit-prompt-chunk",
        "a prompt chunk is charged rejections, or its count stays behind",
        (STATE, _step([0, 5, 6, 8], [-1, 1, 2], [0, 0, 1], [24, 0, 0]), [0, 5, 6, 8], ALL, [7, 8, 31, 66] + [0] * 8),
        (
            ([0, 0, 1], [0, 0, 0], [7, 8, 66], [[7, -1, -1, -1], [8, -1, -1, -1], [31, 66, -1, -1]]),
            [4, 5, 7],
            ([7, 8, 66], DRAFTS, [29, 21, 32]),
        ),
    ),
    commit_step(
        "commit-everything",
        "a row that accepts everything is counted without its bonus token",
        (STATE, _step([0, 4, 8, 8], ALL, [3, 3, 0]), [0, 4, 8, 8], ALL, [11, 12, 13, 70, 21, 22, 23, 80, 0, 0, 0, 0]),
    ),
    commit_step(
        "commit-nothing",
        "rejected drafts stay in the count",
        (STATE, _step([0, 4, 8, 8], ALL, [3, 3, 0]), [0, 4, 8, 8], ALL, [91] * 12),
    ),
    commit_step(
        "commit-minus-one-drafts",
        "a -1 draft is accepted because the target says -1",
        (STATE, _step(CU, ALL, [0, 3, 1], state=(ANCHORS, [[-1] * 3] * 3, [10, 20, 30])), CU, ALL, [-1] * 12),
    ),
    commit_step(
        "commit-k-shrank",
        "the step verified one draft a row, the table is three wide",
        (STATE, _step([0, 2, 4, 6], ALL, [1, 1, 1]), [0, 2, 4, 6], ALL, [11, 70, 98, 80, 31, 90] + [0] * 6),
    ),
    commit_step(
        "commit-speculation-off",
        "K = 0: every row takes its sampled token",
        (OFF, _step([0, 1, 2, 3], [2, 1, 0], ZERO, state=OFF), [0, 1, 2, 3], [2, 1, 0], [7, 8, 9]),
    ),
    commit_step("commit-no-rows", "no rows", (STATE, _step([0], [], [], []), [0], [], [])),
    commit_step(
        "commit-no-slots",
        "an empty state cannot be written to",
        (
            ([], empty(0, 3), []),
            _step(CU, [-1, -1, -1], [0, 0, 0], state=([], empty(0, 3), [])),
            CU,
            [0, -1, 1],
            SAMPLED,
        ),
    ),
    commit_step(
        "commit-more-slots",
        "a state with more rows than the batch",
        (
            ([10, 20, 30, 40, 50], [[1, 2, 3]] * 5, [1, 2, 3, 4, 5]),
            _step([0, 2, 6], [4, 1], [1, 3], [0, 0], ([10, 20, 30, 40, 50], [[1, 2, 3]] * 5, [1, 2, 3, 4, 5])),
            [0, 2, 6],
            [4, 1],
            [1, 70, 1, 2, 80, 90, 0, 0],
        ),
    ),
    commit_step(
        "commit-fewer-slots",
        "a state with fewer rows than the batch",
        (
            ([200], [[21, 22, 23]], [20]),
            _step([0, 1, 3, 4], [-1, 0, -1], [0, 1, 0], [7, 0, 9], ([200], [[21, 22, 23]], [20])),
            [0, 1, 3, 4],
            [-1, 0, 1],
            [5, 21, 70, 6] + [0] * 8,
        ),
    ),
    commit_step(
        "commit-new-request",
        "a request admitted into a used slot keeps the old one's count",
        (STATE, _step(CU, [-1, 1, 2], [0, 3, 1], [0, 0, 0]), CU, ALL, SAMPLED),
    ),
    commit_step(
        "commit-counts-wrap",
        "a count that saturates instead of wrapping",
        (STATE, _step(CU, ALL, [0, 3, 1], state=(ANCHORS, DRAFTS, [INT_MAX, INT_MAX - 1, INT_MIN])), CU, ALL, SAMPLED),
    ),
    commit_step(
        "commit-extreme-tokens",
        "the extremes as sampled tokens",
        (STATE, RUNNING, CU, ALL, [INT_MIN, 21, INT_MAX, 98, 55, 31, -1, *[INT_MIN] * 5]),
    ),
    commit_step(
        "commit-strided",
        "the state's tables are views",
        (
            (Laid("strided", ANCHORS), Laid("transposed", DRAFTS), Laid("strided", [10, 20, 30])),
            RUNNING,
            CU,
            [2, 0, 1],
            Laid("strided", SAMPLED),
        ),
    ),
    opened(
        "commit_step", "open-commit-same-slot", "two rows that claim one slot", (STATE, RUNNING, CU, [1, 1, 1], SAMPLED)
    ),
    opened(
        "commit_step",
        "open-commit-wild",
        "a prefix sum that is not the one of the step",
        (STATE, RUNNING, [7, INT_MIN, INT_MAX, -5], ALL, SAMPLED),
    ),
    store_drafts(
        "store-drafts",
        "a row without a slot wraps to the last slot and destroys its drafts",
        (STATE, [1, -1, 0], NEW),
        (ANCHORS, [[61, 62, 63], [41, 42, 43], [31, 32, 33]], [10, 20, 30]),
    ),
    store_drafts(
        "store-reordered",
        "drafts are written by batch position",
        (STATE, [2, 0, 1], NEW),
        (ANCHORS, [[51, 52, 53], [61, 62, 63], [41, 42, 43]], [10, 20, 30]),
    ),
    store_drafts(
        "store-out-of-range", "slots outside the state are clamped into it", (STATE, [3, INT_MAX, INT_MIN], NEW), STATE
    ),
    store_drafts(
        "store-extreme-drafts",
        "drafts are taken for marks, or clamped",
        (STATE, [0, 1, 2], [[-1] * 3, [INT_MIN] * 3, [INT_MAX] * 3]),
        (ANCHORS, [[-1] * 3, [INT_MIN] * 3, [INT_MAX] * 3], [10, 20, 30]),
    ),
    store_drafts("store-no-rows", "no rows", (STATE, [], empty(0, 3)), STATE),
    store_drafts(
        "store-no-slots",
        "an empty state cannot be written to",
        (([], empty(0, 3), []), [0, -1, 1], NEW),
        ([], empty(0, 3), []),
    ),
    store_drafts("store-speculation-off", "K = 0: nothing to write", (OFF, [2, 1, 0], empty(3, 0)), OFF),
    store_drafts(
        "store-more-slots",
        "a state with more rows than the batch",
        (([1, 2, 3, 4, 5], [[0, 0, 0]] * 5, [6, 7, 8, 9, 10]), [4, 1, -1], NEW),
        ([1, 2, 3, 4, 5], [[0] * 3, [51, 52, 53], [0] * 3, [0] * 3, [41, 42, 43]], [6, 7, 8, 9, 10]),
    ),
    store_drafts(
        "store-fewer-slots",
        "a state with fewer rows than the batch",
        (([200], [[21, 22, 23]], [20]), [1, 0, -1], NEW),
        ([200], [[51, 52, 53]], [20]),
    ),
    store_drafts(
        "store-transposed",
        "the drafter's output is a transposed view",
        (STATE, [0, 1, 2], Laid("transposed", NEW)),
        (ANCHORS, NEW, [10, 20, 30]),
    ),
    opened("store_drafts", "open-store-same-slot", "two rows that claim one slot", (STATE, [1, 1, 1], NEW)),
)
