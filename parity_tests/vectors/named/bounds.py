"""Section 5: indices that stay inside the buffer, ids that stay inside the vocabulary."""

from functools import partial

from parity_tests.kit.named import ASCEND, ATOM, CU, INT_MAX, INT_MIN, VLLM, Laid, case, empty, fault, opened, typed

token_index_bound = partial(case, "token_index_bound")
clamp_token_indices = partial(case, "clamp_token_indices")
last_token_indices = partial(case, "last_token_indices")
clamp_token_ids = partial(case, "clamp_token_ids")

CASES = (
    token_index_bound("bound-padded-rows", "padded rows repeat the total", ([0, 1, 5, 7, 7, 7],), 6),
    token_index_bound("bound-empty", "an empty step gives -1", ([0, 0, 0],), 0, source=ATOM + "1698"),
    token_index_bound("bound-running", "the total itself, one past the last token", (CU,), 6),
    token_index_bound("bound-one", "a step of one token", ([0, 1],), 0),
    token_index_bound("bound-no-rows", "no rows: the only entry is the start", ([0],), 0),
    token_index_bound("bound-largest", "a total at the largest int32", ([0, INT_MAX],), INT_MAX - 1),
    opened(
        "token_index_bound", "open-bound-lowest", "subtracting one from the lowest int32 wraps", ([0, 1, 5, INT_MIN],)
    ),
    clamp_token_indices(
        "clamp-both-ends",
        "indices below 0 read from the end, indices past the last token read stale rows",
        ([-2, -4, 6, 8], CU),
        [0, 0, 6, 6],
    ),
    clamp_token_indices(
        "clamp-total-zero",
        "an empty step: the upper bound itself is negative",
        ([-1, 0, 3], [0, 0, 0]),
        [0, 0, 0],
        source=ATOM + "1698",
    ),
    clamp_token_indices(
        "clamp-extremes", "the extremes wrap before they are clamped", ([INT_MIN, INT_MAX, -1, 7], CU), [0, 6, 0, 6]
    ),
    clamp_token_indices("clamp-matrix", "indices of rank 2 are flattened", ([[-1, 3], [6, 7]], CU), [[0, 3], [6, 6]]),
    clamp_token_indices("clamp-scalar", "a single index becomes a vector of one", (9, CU), 6),
    clamp_token_indices("clamp-none", "no indices", (empty(0, 2), CU), empty(0, 2)),
    clamp_token_indices("clamp-no-rows", "no rows: the bound is 0", ([-1, 0, 1], [0]), [0, 0, 0]),
    clamp_token_indices(
        "clamp-largest",
        "a total at the largest int32",
        ([INT_MAX, INT_MAX - 1, INT_MIN], [0, INT_MAX]),
        [INT_MAX - 1, INT_MAX - 1, 0],
    ),
    clamp_token_indices(
        "clamp-transposed",
        "a transposed view comes back in storage order",
        (Laid("transposed", [[-1, 3, 9], [6, 7, 2]]), CU),
        [[0, 3, 6], [6, 6, 2]],
    ),
    opened("clamp_token_indices", "open-clamp-negative-total", "a total below 0", ([-1, 0, 3], [0, 1, 5, -7])),
    last_token_indices(
        "anchor-total-zero",
        "with nothing scheduled the index stays -1 and the gather wraps",
        ([0, 0, 0], [1, 1]),
        [0, 0],
        source=ATOM + "1698",
    ),
    last_token_indices("anchor-past-end", "a negative offset points past the last token", (CU, [1, 2, -1]), [0, 3, 6]),
    last_token_indices("anchor-before-start", "an offset longer than everything before it", (CU, [3, 9, 1]), [0, 0, 6]),
    last_token_indices(
        "anchor-in-neighbour",
        "the bound is global: an index inside a neighbour's span stays",
        (CU, [-1, 4, 1]),
        [2, 1, 6],
    ),
    last_token_indices(
        "anchor-shrunk-rows",
        "the offset of a shrunk row is counted from that row's end, not from the full width",
        ([0, 2, 4, 6], [2, 1, 2]),
        [0, 3, 4],
        source=ATOM + "1414",
    ),
    last_token_indices(
        "anchor-discarded",
        "a discarded row's index falls before the buffer",
        ([0, 4, 8], [5, 3]),
        [0, 5],
        source=VLLM + "45237",
    ),
    last_token_indices("anchor-scalar-offset", "one offset for all rows", ([0, 4, 8], 1), [3, 7]),
    last_token_indices(
        "anchor-padded-rows",
        "padded rows at the end of the prefix sum move the bound",
        ([0, 1, 5, 7, 7, 7], [1, 3, 1, 1, 1]),
        [0, 2, 6, 6, 6],
        source=ASCEND + "5626",
    ),
    fault(
        "last_token_indices",
        "error-int64-offset",
        "a 64-bit offset turns the indices into 64 bit",
        (CU, typed("int64", [1, 3, 1])),
        "offsets",
    ),
    last_token_indices(
        "last-example", "an offset of more than the row and everything before it", ([0, 4, 8], [1, 9]), [3, 0]
    ),
    last_token_indices(
        "last-running", "one plus the rejected drafts counted from the start of the row", (CU, [1, 3, 1]), [0, 2, 6]
    ),
    last_token_indices(
        "last-zero-offset", "an offset of 0 is the next row's first token, or past the end", (CU, [0, 0, 0]), [1, 5, 6]
    ),
    last_token_indices("last-scalar-zero", "a scalar offset of 0", (CU, 0), [1, 5, 6]),
    last_token_indices(
        "last-wraps",
        "a difference that saturates or is widened instead of wrapping",
        (CU, [INT_MIN, INT_MAX, INT_MIN + 8]),
        [0, 0, 6],
    ),
    last_token_indices(
        "last-empty-rows", "an empty row points at its neighbour's last token", ([0, 0, 4, 4], [1, 1, 1]), [0, 3, 3]
    ),
    last_token_indices("last-no-rows", "no rows", ([0], []), []),
    last_token_indices("last-no-rows-scalar", "no rows and one offset for all of them", ([0], 1), []),
    last_token_indices("last-empty-scalar", "an empty step and one offset for all rows", ([0, 0, 0], 1), [0, 0]),
    opened("last_token_indices", "open-last-decreasing", "a decreasing prefix sum", ([0, 5, 3, -7], [1, 1, 1])),
    clamp_token_ids(
        "ids-clamped",
        "-1 and ids past the vocabulary reach the embedding table",
        ([-1, 0, 129279, 129280, 2147483647],),
        [0, 0, 129279, 129279, 129279],
        static={"vocab_size": 129280},
        source=VLLM + "46899",
    ),
    clamp_token_ids("ids-lower-end", "a vocabulary of one", ([-7, 0, 1],), [0, 0, 0], static={"vocab_size": 1}),
    clamp_token_ids(
        "ids-lowest", "the extremes", ([INT_MIN, INT_MAX, 0],), [0, 129279, 0], static={"vocab_size": 129280}
    ),
    clamp_token_ids(
        "ids-largest-vocabulary",
        "the largest vocabulary",
        ([INT_MAX, INT_MAX - 1, -1],),
        [INT_MAX - 1, INT_MAX - 1, 0],
        static={"vocab_size": INT_MAX},
    ),
    clamp_token_ids("ids-matrix", "ids of rank 2", ([[-1, 5], [9, 10]],), [[0, 5], [9, 9]], static={"vocab_size": 10}),
    clamp_token_ids("ids-scalar", "a single id", (-1,), 0, static={"vocab_size": 10}),
    clamp_token_ids("ids-none", "no ids", ([],), [], static={"vocab_size": 10}),
    clamp_token_ids(
        "ids-strided",
        "a view is clamped in place",
        (Laid("strided", [-1, 5, 10]),),
        [0, 5, 9],
        static={"vocab_size": 10},
    ),
)
