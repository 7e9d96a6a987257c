"""Section 10: floats that are no probability and no speed."""

from functools import partial

import numpy as np

from parity_tests.kit.named import case
from parity_tests.vectors.named._small import at_most, filled

schedule = partial(case, "schedule_verify_lens")

NAN, INF = np.nan, np.inf
FLAT = [1.0]
GLOBAL = {"early_stop": False}
# The smallest normal float32, the largest one below it, and the smallest of all.
NORMAL, SUBNORMAL, LEAST = 2.0**-126, 2.0**-126 - 2.0**-149, 2.0**-149
LARGEST = 3.4028235e38


CASES = (
    schedule(
        "schedule-nan-first",
        "NaN ends a row, or turns every yield into NaN",
        filled([[NAN, 1], [1, 1]], FLAT, [True, True]),
        [0, 2],
    ),
    schedule("schedule-nan-behind", "NaN is taken for certainty", filled([[1, NAN, 1]], FLAT, [True]), [1]),
    schedule("schedule-nan-only", "nothing is known", filled([[NAN, NAN], [NAN, NAN]], FLAT, [True, True]), [0, 0]),
    schedule(
        "schedule-infinite", "an infinite confidence is 1", filled([[INF, 0.5], [1, 1]], FLAT, [True, True]), [2, 2]
    ),
    schedule(
        "schedule-infinite-then-zero",
        "infinity times zero is NaN if it is not clamped first",
        filled([[INF, 0, 1], [0.5, 0.5, 0.5]], FLAT, [True, True]),
        [1, 3],
    ),
    schedule(
        "schedule-above-one",
        "a confidence above 1 makes up for what comes behind it",
        filled([[2, 0.5], [0.75, 0]], at_most(4), [True, True]),
        [1, 1],
    ),
    schedule(
        "schedule-negative-pair", "two negative confidences make a likely draft", filled([[-1, -1]], FLAT, [True]), [0]
    ),
    schedule(
        "schedule-negative",
        "a negative confidence lowers the yield",
        filled([[-0.5, 1], [0.25, -INF]], FLAT, [True, True]),
        [0, 1],
    ),
    schedule(
        "schedule-negative-zero",
        "minus zero sorts behind zero",
        filled([[-0.0, 1], [0.0, 1], [0.5, -0.0]], FLAT, [True, True, True]),
        [0, 0, 1, 0],
    ),
    schedule(
        "schedule-negative-zero-global",
        "minus zero is a gain over zero",
        filled([[-0.0], [0.0]], FLAT, [True, True]),
        [0, 0],
        static=GLOBAL,
    ),
    schedule(
        "schedule-subnormal-confidence",
        "a confidence that some compilers flush to zero is a gain",
        filled([[LEAST, 1], [SUBNORMAL, 1], [NORMAL, 1]], FLAT, [True, True, True]),
        [0, 0, 0, 0],
    ),
    schedule(
        "schedule-underflow",
        "products below the smallest normal number, which some compilers flush",
        filled([[1e-30, 1e-10, 1], [1e-20, 1e-20, 1e20]], FLAT, [True, True]),
        [0, 0],
    ),
    schedule("schedule-table-of-zeros", "no yield is no gain", filled([[1, 1]], [0, 0, 0, 0], [True]), [0]),
    schedule(
        "schedule-table-of-zeros-global",
        "no yield is no gain",
        filled([[1, 1]], [0, 0, 0, 0], [True]),
        [0],
        static=GLOBAL,
    ),
    schedule(
        "schedule-zero-then-speed",
        "the yield of the anchors alone is zero, that of a draft is not",
        filled([[1, 1]], [0, 0, 1, 1], [True]),
        [2],
    ),
    schedule(
        "schedule-negative-table", "a negative speed counts as 0", filled([[1, 1]], [0, -1, -0.25, -0.1], [True]), [0]
    ),
    schedule(
        "schedule-negative-table-global",
        "of negative speeds the best is taken",
        filled([[1, 1]], [0, -1, -0.25, -0.1], [True]),
        [0],
        static=GLOBAL,
    ),
    schedule("schedule-minus-infinite-speed", "minus infinity is no speed", filled([[1]], [1, -INF, 1], [True]), [1]),
    schedule(
        "schedule-nan-in-the-table",
        "a comparison with NaN is false: it is no stop",
        filled([[1, 1]], [1, 1, NAN, 1], [True]),
        [0],
    ),
    schedule(
        "schedule-nan-in-the-table-global",
        "NaN is the largest to some",
        filled([[1, 1]], [1, 1, NAN, 1], [True]),
        [2],
        static=GLOBAL,
    ),
    schedule(
        "schedule-nan-for-the-anchors", "NaN in front is a yield of 0", filled([[1, 1]], [1, NAN, 1, 1], [True]), [2]
    ),
    schedule("schedule-infinite-speed", "an infinite yield does not grow", filled([[1, 1]], [INF], [True]), [0]),
    schedule(
        "schedule-infinite-speed-global",
        "of infinite yields the first is the best",
        filled([[1, 1]], [1, 1, INF, INF], [True]),
        [1],
        static=GLOBAL,
    ),
    schedule(
        "schedule-yield-overflows",
        "a yield beyond float32 is infinite, in double it grows",
        filled([[1]], [LARGEST], [True]),
        [0],
    ),
    schedule(
        "schedule-subnormal-speed",
        "a speed that some compilers flush to zero counts as 0 everywhere",
        filled([[1]], [SUBNORMAL], [True]),
        [0],
    ),
    schedule("schedule-smallest-speed", "the smallest normal speed is one", filled([[1]], [NORMAL], [True]), [1]),
    schedule(
        "schedule-subnormal-step",
        "a speed falls below the smallest normal number",
        filled([[1, 1]], [NORMAL, NORMAL, NORMAL, SUBNORMAL], [True]),
        [1],
    ),
    schedule(
        "schedule-least-speeds-global",
        "the least of all speeds are told apart",
        filled([[1, 1]], [LEAST, LEAST, 2 * LEAST, SUBNORMAL], [True]),
        [0],
        static=GLOBAL,
    ),
)
