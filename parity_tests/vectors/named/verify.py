"""Section 6: which logits a step needs, and the drafts under verification."""

from functools import partial

from parity_tests.kit.named import CU, GAUDI, INT_MAX, INT_MIN, VLLM, case, indices_of, opened

K3 = {"num_speculative_tokens": 3}
verify_indices = partial(case, "verify_indices")
gather_draft_token_ids = partial(case, "gather_draft_token_ids")

CASES = (
    verify_indices(
        "verify-running",
        "an exclusive draft count, or bonus rows taken from the start of the span",
        (CU, [0, 3, 1]),
        ([0, 3, 1], [0, 3, 4], CU, [0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0], [1, 2, 3, 5, 0, 0, 0, 0, 0], [0, 4, 6]),
        static={"num_speculative_tokens": 3},
        source=GAUDI + "593",
    ),
    verify_indices(
        "verify-no-drafts",
        "no row has a draft",
        ([0, 1, 2], [0, 0]),
        ([0, 0], [0, 0], [0, 1, 2], [0, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 1]),
        static={"num_speculative_tokens": 3},
        source=GAUDI + "593",
    ),
    verify_indices(
        "verify-prompt-chunk",
        "prompt tokens counted as drafts: only the last row of a chunk needs logits",
        ([0, 4, 7], [0, 2]),
        ([0, 2], [0, 2], [0, 1, 4], [3, 4, 5, 6, 0, 0], [1, 2, 0, 0], [0, 3]),
        static={"num_speculative_tokens": 2},
    ),
    verify_indices(
        "verify-chunk-longer-than-k",
        "a prompt chunk longer than K + 1 is verified up to K, its logits taken from its start",
        ([0, 6, 7, 9], [0, 0, 1]),
        ([0, 0, 1], [0, 0, 1], [0, 1, 2, 4], [5, 6, 7, 8] + [0] * 8, [2] + [0] * 8, [0, 1, 3]),
        static=K3,
    ),
    verify_indices(
        "verify-last-of-a-long-row",
        "drafts are verified at the start of a row that is longer than they are",
        ([0, 6, 7, 8], [2, 0, 0]),
        ([2, 0, 0], [2, 2, 2], [0, 3, 4, 5], [3, 4, 5, 6, 7] + [0] * 7, [0, 1] + [0] * 7, [2, 3, 4]),
        static=K3,
    ),
    verify_indices(
        "verify-more-than-the-row",
        "a stale draft count larger than the row reaches into the row before it",
        (CU, [3, 3, 3]),
        ([0, 3, 1], [0, 3, 4], [0, 1, 5, 7], [0, 1, 2, 3, 4, 5, 6] + [0] * 5, [1, 2, 3, 5] + [0] * 5, [0, 4, 6]),
        static=K3,
    ),
    verify_indices(
        "verify-more-than-k",
        "a draft count above K writes past its columns",
        ([0, 6, 7, 8], [5, 0, 0]),
        ([3, 0, 0], [3, 3, 3], [0, 4, 5, 6], [2, 3, 4, 5, 6, 7] + [0] * 6, [0, 1, 2] + [0] * 6, [3, 4, 5]),
        static=K3,
    ),
    verify_indices(
        "verify-extreme-counts",
        "the extremes as draft counts",
        (CU, [INT_MAX, INT_MIN, -1]),
        ([0, 0, 0], [0, 0, 0], [0, 1, 2, 3], [0, 4, 6] + [0] * 9, [0] * 9, [0, 1, 2]),
        static=K3,
    ),
    verify_indices(
        "verify-empty-rows",
        "an empty row is given a bonus token, or takes its neighbour's",
        ([0, 0, 4, 4], [3, 3, 3]),
        ([0, 3, 0], [0, 3, 3], [0, 0, 4, 4], [0, 1, 2, 3] + [0] * 8, [0, 1, 2] + [0] * 6, [0, 3, 3]),
        static=K3,
    ),
    verify_indices(
        "verify-all-empty",
        "an empty step: the last logit is -1",
        ([0, 0, 0, 0], [3, 0, -1]),
        ([0, 0, 0], [0, 0, 0], [0, 0, 0, 0], [0] * 12, [0] * 9, [0, 0, 0]),
        static=K3,
    ),
    verify_indices(
        "verify-padded-rows",
        "padded rows are given logits",
        ([0, 2, 4, 4, 4], [1, 1, 1, 1]),
        ([1, 1, 0, 0], [1, 2, 2, 2], [0, 2, 4, 4, 4], [0, 1, 2, 3] + [0] * 4, [0, 2, 0, 0], [1, 3, 3, 3]),
        static={"num_speculative_tokens": 1},
    ),
    verify_indices(
        "verify-full",
        "no padding at all",
        ([0, 4, 8, 12], [3, 3, 3]),
        ([3, 3, 3], [3, 6, 9], [0, 4, 8, 12], [*range(12)], [0, 1, 2, 4, 5, 6, 8, 9, 10], [3, 7, 11]),
        static=K3,
    ),
    verify_indices(
        "verify-speculation-off",
        "K = 0: one logit a row, no target",
        ([0, 1, 2, 5], [0, 1, 2]),
        ([0, 0, 0], [0, 0, 0], [0, 1, 2, 3], [0, 1, 4], [], [0, 1, 2]),
        static={"num_speculative_tokens": 0},
    ),
    verify_indices("verify-no-rows", "no rows", ([0], []), ([], [], [0], [], [], []), static=K3),
    verify_indices(
        "verify-nothing",
        "neither rows nor drafts",
        ([0], []),
        ([], [], [0], [], [], []),
        static={"num_speculative_tokens": 0},
    ),
    verify_indices(
        "verify-far-chunk",
        "a chunk that ends at the largest int32 overflows",
        ([0, 1, 5, INT_MAX], [0, 3, 2]),
        (
            [0, 3, 2],
            [0, 3, 5],
            [0, 1, 5, 8],
            [0, 1, 2, 3, 4, INT_MAX - 3, INT_MAX - 2, INT_MAX - 1] + [0] * 4,
            [1, 2, 3, 5, 6] + [0] * 4,
            [0, 4, 7],
        ),
        static=K3,
    ),
    verify_indices(
        "verify-k-changes",
        "the last step's K is the stride of this one's rows",
        ([0, 2, 4, 6], [3, 3, 3]),
        ([1, 1, 1], [1, 2, 3], [0, 2, 4, 6], [0, 1, 2, 3, 4, 5] + [0] * 6, [0, 2, 4] + [0] * 6, [1, 3, 5]),
        static=K3,
    ),
    verify_indices(
        "verify-many-rows",
        "a blockwise scan loses its carry between blocks",
        ([3 * i // 2 for i in range(71)], [i % 3 for i in range(70)]),
        static={"num_speculative_tokens": 2},
    ),
    opened("verify_indices", "open-verify-decreasing", "a decreasing prefix sum", ([0, 5, 3, 7], [3, 3, 3]), static=K3),
    opened(
        "verify_indices",
        "open-verify-wild",
        "a prefix sum of wild values",
        ([7, INT_MIN, INT_MAX, -5], [INT_MIN, INT_MAX, 1]),
        static=K3,
    ),
    gather_draft_token_ids(
        "gather-plus-one",
        "the draft of a logits row sits one position later",
        ([100, 200, 21, 22, 23, 300, 31], indices_of(CU, [0, 3, 1], 3)),
        [21, 22, 23, 31, -1, -1, -1, -1, -1],
        source=VLLM + "52311",
    ),
    gather_draft_token_ids(
        "gather-minus-one",
        "a -1 draft, or the lowest int32, is made a legal id on the way",
        ([100, 200, -1, 22, INT_MIN, 300, 31, 0], indices_of(CU, [0, 3, 1], 3)),
        [-1, 22, INT_MIN, 31, -1, -1, -1, -1, -1],
    ),
    gather_draft_token_ids(
        "gather-buffer-too-short",
        "a draft past the end of the buffer is read from its last place",
        ([100, 200, 21, 22], indices_of(CU, [0, 3, 1], 3)),
        [21, 22] + [-1] * 7,
    ),
    gather_draft_token_ids(
        "gather-none",
        "the padding holds position 0's id, which a row may then accept",
        ([100, 200, 21, 22, 23, 300, 31, 0], indices_of(CU, [0, 0, 0], 3)),
        [-1] * 9,
    ),
    gather_draft_token_ids(
        "gather-all-empty", "an empty step", ([0] * 8, indices_of([0, 0, 0, 0], [0, 0, 0], 3)), [-1] * 9
    ),
    gather_draft_token_ids(
        "gather-chunk-in-front",
        "the prompt chunk in front is counted as drafts",
        ([51, 52, 53, 54, 200, 21, 22], indices_of([0, 4, 7], [0, 2], 2)),
        [21, 22, -1, -1],
    ),
    gather_draft_token_ids(
        "gather-full",
        "the last draft is the last token of the buffer",
        ([*range(100, 112)], indices_of([0, 4, 8, 12], [3, 3, 3], 3)),
        [101, 102, 103, 105, 106, 107, 109, 110, 111],
    ),
    gather_draft_token_ids(
        "gather-speculation-off",
        "K = 0: nothing to gather",
        ([100, 200, 300], indices_of([0, 1, 2, 3], [0, 0, 0], 0)),
        [],
    ),
    gather_draft_token_ids("gather-no-rows", "no rows", ([0] * 8, indices_of([0], [], 3)), []),
    gather_draft_token_ids(
        "gather-no-capacity",
        "a buffer without tokens cannot be gathered from",
        ([], indices_of(CU, [0, 3, 1], 3)),
        [-1] * 9,
    ),
    opened(
        "gather_draft_token_ids",
        "open-gather-wild",
        "indices that no step gives are followed out of the buffer",
        (
            [*range(8)],
            (
                [INT_MAX, 3, -1],
                [INT_MIN, 9, 9],
                [0, 9, -1, 99],
                [INT_MAX] * 6 + [INT_MIN] * 6,
                [-1, 99, INT_MIN, INT_MAX, 0, 1, 2, 3, 4],
                [7, 8, 9],
            ),
        ),
    ),
)
