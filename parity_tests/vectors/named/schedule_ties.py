"""Section 10: drafts that are as likely as each other, and numbers of drafts that yield as much."""

from functools import partial

from parity_tests.kit.named import case
from parity_tests.vectors.named._small import at_most, filled

schedule = partial(case, "schedule_verify_lens")

GLOBAL = {"early_stop": False}
# One step of the fixed point of a small batch.
UNIT = 2.0**-20


def as_good(row: list[float], value: float) -> tuple:
    """A row whose last survival is that of a single draft in the row before it, and room for all but one of them."""
    return filled([[value] + [0.0] * (len(row) - 1), row], at_most(2 + len(row)), [True, True])


CASES = (
    schedule(
        "schedule-ties",
        "equal survivals are taken in row order; an unstable sort picks others",
        ([[0.8], [0.8], [0.8]], [1, 1, 1, 1, 0.99, 0.98, 0.2], [True, True, True]),
        [1, 1, 0],
    ),
    schedule(
        "schedule-ties-row-by-row",
        "equal survivals in one row and the next are taken column by column",
        filled([[1, 1, 1], [1, 1, 1]], at_most(5), [True, True]),
        [3, 0],
    ),
    schedule(
        "schedule-ties-across-columns",
        "the second draft of an earlier row goes before the first of a later one",
        filled([[0.9, 1], [0.9, 1], [0.9, 1]], at_most(6), [True, True, True]),
        [2, 1, 0, 0],
    ),
    schedule(
        "schedule-ties-past-an-idle-row",
        "rows that are not live are skipped and keep the order of the others",
        filled([[0.5], [0.5], [0.5], [0.5]], at_most(5), [False, True, True, True]),
        [0, 1, 1, 0],
    ),
    schedule(
        "schedule-ties-of-many",
        "a sort that is stable for few entries only",
        ([[0.5, 1, 1, 1]] * 24, at_most(24 + 50), [True] * 24),
        [4] * 12 + [2] + [0] * 11,
    ),
    schedule(
        "schedule-product-order",
        "the product is taken left to right in float32; a double or pairwise product is a step lower and loses the tie",
        (
            [[0.99, 0.95, 0.87, 0.95], [0.7773237228393555, 0, 0, 0]],
            [1, 1, 1, 1, 1, 1, 1, 0.1],
            [True, True],
        ),
        [4, 0],
    ),
    schedule(
        "schedule-product-from-the-right",
        "the product taken from the last draft to the first is one step higher and wins the tie",
        as_good([0.9, 0.9, 0.87], 0.7046995),
        [1, 2],
    ),
    schedule(
        "schedule-product-of-doubles",
        "a product in double, or a sum of logarithms, is one step higher and wins the tie",
        as_good([0.85, 0.9, 0.8], 0.6119995),
        [1, 2],
    ),
    schedule(
        "schedule-product-of-pairs",
        "a scan multiplies pairs first, is one step higher and wins the tie",
        as_good([0.6, 0.8, 0.99, 0.99], 0.47044754),
        [1, 3],
    ),
    schedule(
        "schedule-half-up",
        "two and a half steps are two, not three: half to even",
        filled([[2 * UNIT], [2.5 * UNIT]], at_most(3), [True, True]),
        [1, 0],
    ),
    schedule(
        "schedule-half-down",
        "one and a half steps are two, not one: half to even",
        filled([[1.5 * UNIT], [2 * UNIT]], at_most(3), [True, True]),
        [1, 0],
    ),
    schedule(
        "schedule-half-of-a-step",
        "half a step is none, and brings no gain",
        filled([[0.5 * UNIT]], [1.0], [True]),
        [0],
    ),
    schedule(
        "schedule-more-than-half-of-a-step",
        "what is above half a step is one",
        filled([[0.75 * UNIT]], [1.0], [True]),
        [1],
    ),
    schedule(
        "schedule-below-one",
        "a survival cut off to a step instead of rounded, or compared as a float",
        filled([[1 - 2.0**-24], [1]], at_most(3), [True, True]),
        [1, 0],
    ),
    schedule(
        "schedule-one-step-apart",
        "survivals one step apart are taken for equal",
        filled([[0.5], [0.5 + UNIT]], at_most(3), [True, True]),
        [0, 1],
    ),
    schedule(
        "schedule-largest-fine-batch",
        "with 1,024 tokens at most the fixed point has 20 places",
        ([[0.5, 0, 0], [0.5 + UNIT, 0, 0]] + [[0, 0, 0]] * 254, at_most(3), [True, True] + [False] * 254),
        [0, 1] + [0] * 254,
    ),
    schedule(
        "schedule-smallest-coarse-batch",
        "with 1,025 tokens at most it has 19: anchors count, and so do rows that are not live",
        ([[0.5, 0, 0, 0], [0.5 + UNIT, 0, 0, 0]] + [[0] * 4] * 203, at_most(3), [True, True] + [False] * 203),
        [1, 0] + [0] * 203,
    ),
    schedule(
        "schedule-sum-of-a-full-batch",
        "the sum of 2,048 tokens in 20 places leaves int32",
        ([[1, 1, 1]] * 512, [1.0], [True] * 512),
        [3] * 512,
    ),
    schedule(
        "schedule-no-worth",
        "a draft that is never accepted brings no gain",
        filled([[0, 0]], [1, 1, 1, 1], [True]),
        [0],
    ),
    schedule(
        "schedule-equal-yield",
        "twice the tokens at half the speed are no gain",
        filled([[1, 1]], [1, 1, 0.5, 0.25], [True]),
        [0],
    ),
    schedule(
        "schedule-first-of-two-best-global",
        "of two numbers of drafts that yield most the larger is taken",
        ([[1], [1]], [1, 1, 1, 1, 0.75], [True, True]),
        [1, 0],
        static=GLOBAL,
    ),
    schedule(
        "schedule-all-alike-global",
        "every number of drafts yields the same",
        filled([[0, 0], [0, 0]], [1.0], [True, True]),
        [0, 0],
        static=GLOBAL,
    ),
    schedule(
        "schedule-yield-of-doubles",
        "1.5 times 1.3333334 is 2 in float32, which is no gain, and a bit more in double",
        filled([[0.5]], [2, 2, 1.3333334], [True]),
        [0],
    ),
    schedule(
        "schedule-yield-rounded-to-even",
        "expected tokens are added up as floats, and the 15 smallest are lost one by one; 14 of them count as 16",
        ([[1]] * 17 + [[UNIT]] * 15, [1.0], [True] * 32),
        [1] * 31 + [0],
        static=GLOBAL,
    ),
    schedule(
        "schedule-gain-below-the-last-bit",
        "a step more than 32 rows is none in float32, and early admission stops there",
        ([[UNIT]] * 32, [1.0], [True] * 32),
        [0] * 32,
    ),
)
