"""Section 9: steps that `check_step` must let pass."""

from functools import partial

from parity_tests.kit.named import INT_MAX, case, typed

# Three rows of 2, 2 and 1 tokens, two of them carried.
CU, SOURCES, COUNTS = [0, 2, 4, 5], [1, -1, 0], [1, 0, 0]
K1 = {"capacity": 6, "num_speculative_tokens": 1}
FULL = {**K1, "num_slots": 2, "vocab_size": 1000}

passes = partial(case, "check_step", expected=(), static=FULL)

CASES = (
    passes(
        "check-good",
        "a correct step must pass",
        {
            "cu_seqlens_q": CU,
            "source_rows": SOURCES,
            "slots": [1, -1, 0],
            "num_draft_tokens": COUNTS,
            "token_ids": [0, 0, 51, 52, 0, 9],
        },
    ),
    passes("check-lengths-only", "lengths alone, filling the buffer", {"cu_seqlens_q": [0, 2, 4, 6]}, static=K1),
    passes(
        "check-no-rows",
        "an empty batch is refused",
        {"cu_seqlens_q": [0], "source_rows": [], "slots": [], "num_draft_tokens": [], "token_ids": []},
    ),
    passes(
        "check-empty-rows",
        "empty rows are refused",
        {"cu_seqlens_q": [0, 0, 2, 2], "source_rows": [0, 1, -1], "slots": [0, 1, -1], "num_draft_tokens": [0, 1, 0]},
    ),
    passes(
        "check-long-chunk",
        "a prompt chunk is held to K + 1",
        {"cu_seqlens_q": [0, 5, 6], "source_rows": [-1, 0], "num_draft_tokens": [0, 0]},
    ),
    passes(
        "check-chunk-without-sources",
        "lengths are held to K + 1 where nothing is said to be carried",
        {"cu_seqlens_q": [0, 6]},
        static=K1,
    ),
    passes(
        "check-uncarried-counts",
        "a row that is not carried is held to its draft count",
        {"cu_seqlens_q": CU, "source_rows": [-1, -1, -1], "num_draft_tokens": [7, 0, 3]},
    ),
    passes(
        "check-no-slot-twice",
        "-1 twice is taken for a slot given twice",
        {"cu_seqlens_q": CU, "slots": [-1, -1, 1]},
    ),
    passes(
        "check-same-source-twice",
        "two rows of one source, which is legal",
        {"cu_seqlens_q": CU, "source_rows": [1, -1, 1]},
    ),
    passes(
        "check-ids-at-the-ends",
        "-1 and the last id of the vocabulary",
        {"cu_seqlens_q": CU, "token_ids": [-1, 0, 999, 999, 0, -1]},
    ),
    passes(
        "check-ids-matrix",
        "ids of rank 2",
        {"cu_seqlens_q": CU, "token_ids": [[-1, 0, 999], [1, 2, 3]]},
    ),
    passes(
        "check-wide-dtypes",
        "int64 arrays whose values fit",
        {"cu_seqlens_q": typed("int64", CU), "token_ids": typed("int64", [5, 6, 7, 8, 9, 0])},
    ),
    passes(
        "check-largest",
        "the largest total and capacity",
        {"cu_seqlens_q": [0, INT_MAX]},
        static={"capacity": INT_MAX, "num_speculative_tokens": 0},
    ),
    passes(
        "check-speculation-off",
        "K = 0: carried rows of one token",
        {"cu_seqlens_q": [0, 1, 2], "source_rows": [0, 1], "num_draft_tokens": [0, 0]},
        static={**FULL, "num_speculative_tokens": 0},
    ),
)
