"""Section 10: which rows take part in the choice of drafts, how the table is read, and where admission stops."""

from functools import partial

import numpy as np

from parity_tests.kit.named import ATOM, Laid, case, fault
from parity_tests.vectors.named._small import filled

schedule = partial(case, "schedule_verify_lens")

TABLE = [1, 1, 0.9, 0.75, 0.6, 0.45, 0.3, 0.2]
FLAT = [1.0]
EARLY, GLOBAL = {"early_stop": True}, {"early_stop": False}


def nothing(*shape: int) -> np.ndarray:
    """A float32 array of a shape that lists cannot write."""
    return np.zeros(shape, np.float32)


CASES = (
    schedule(
        "schedule-one-row",
        "the yield counts the anchors and the table is read at the batch's token count",
        ([[0.95, 0.9, 0.3, 0.1, 0.05]], [1, 1, 0.8, 0.55, 0.3, 0.15], [True]),
        [1],
    ),
    schedule(
        "schedule-two-rows",
        "drafts of different rows compete by survival, not by confidence",
        ([[0.97, 0.95, 0.93], [0.4, 0.2, 0.1]], TABLE, [True, True]),
        [2, 0],
    ),
    schedule(
        "schedule-interleaved",
        "a whole row is taken before the next one",
        filled([[0.9, 0.5], [0.8, 0.8]], [1, 1, 1, 0.95, 0.9, 0.7, 0.5], [True, True]),
        [1, 1],
    ),
    schedule(
        "schedule-by-survival",
        "a high confidence behind a low one is taken for a likely draft",
        filled([[0.3, 1, 1], [0.8, 0.7, 0.5]], [1, 1, 1, 1, 1, 0.1], [True, True]),
        [0, 2],
    ),
    schedule(
        "schedule-rank-a",
        "two ranks with confidences 1e-3 apart choose different lengths: this one stops at two",
        ([[0.811, 0.8878, 0.5778]], [1, 1, 1, 1, 0.85866], [True]),
        [2],
        source=ATOM + "1861",
    ),
    schedule(
        "schedule-rank-b",
        "the other rank of the pair takes three",
        ([[0.81, 0.8864, 0.5808]], [1, 1, 1, 1, 0.85866], [True]),
        [3],
        source=ATOM + "1861",
    ),
    schedule(
        "schedule-idle-rows",
        "padded rows are offered drafts or counted as tokens",
        (
            [[0.97, 0.95, 0.93], [0.9, 0.9, 0.9], [0.4, 0.2, 0.1], [1, 1, 1]],
            TABLE,
            [True, False, True, False],
        ),
        [2, 0, 0, 0],
    ),
    schedule(
        "schedule-padded-rows",
        "the example of two rows with two that are not live behind them",
        ([[0.97, 0.95, 0.93], [0.4, 0.2, 0.1], [0, 0, 0], [0, 0, 0]], TABLE, [True, True, False, False]),
        [2, 0, 0, 0],
    ),
    schedule(
        "schedule-one-live-row",
        "rows that are not live move the place where the table is read",
        filled(
            [[1, 1, 1], [1, 1, 1], [1, 0.5, 0.1], [1, 1, 1]],
            [9, 1, 1, 0.5, 0.2, 1, 1, 1],
            [False, False, True, False],
        ),
        [0, 0, 1, 0],
    ),
    schedule(
        "schedule-live-at-the-end",
        "live rows are taken to stand in front",
        filled([[1, 1], [1, 1], [0.5, 0.5], [0.9, 0.1]], [1, 1, 1, 1, 1, 0.1], [False, False, True, True]),
        [0, 0, 1, 1],
    ),
    schedule(
        "schedule-idle-rows-hold-anything",
        "what stands in a padded row reaches the others",
        filled(
            [[np.nan, np.inf], [0.9, 0.9], [-np.inf, np.nan], [np.inf, 5]],
            FLAT,
            [False, True, False, False],
        ),
        [0, 2, 0, 0],
    ),
    schedule("schedule-nobody", "no row is live", filled([[1, 1], [0.5, 0.5]], [np.inf, 1, 1], [False, False]), [0, 0]),
    schedule(
        "schedule-nobody-global",
        "no row is live, and the table is infinite where it is read first",
        filled([[1, 1], [0.5, 0.5]], [np.inf, 1, 1], [False, False]),
        [0, 0],
        static=GLOBAL,
    ),
    schedule("schedule-plateau-early", "no gain is a stop", ([[0.5], [0.5]], [1, 1, 1, 0.8, 1], [True, True]), [0, 0]),
    schedule(
        "schedule-plateau-stated",
        "the default of early_stop is to stop",
        ([[0.5], [0.5]], [1, 1, 1, 0.8, 1], [True, True]),
        [0, 0],
        static=EARLY,
    ),
    schedule(
        "schedule-plateau-global",
        "the global search looks past the plateau",
        ([[0.5], [0.5]], [1, 1, 1, 0.8, 1], [True, True]),
        [1, 1],
        static=GLOBAL,
    ),
    schedule(
        "schedule-dip-early",
        "a step that is slower stops, however fast the next one is",
        filled([[1, 1, 1]], [1, 1, 1, 0.5, 1], [True]),
        [1],
    ),
    schedule(
        "schedule-dip-global",
        "the best number of drafts lies behind a dip",
        filled([[1, 1, 1]], [1, 1, 1, 0.5, 1], [True]),
        [3],
        static=GLOBAL,
    ),
    schedule(
        "schedule-best-is-none-global",
        "the global search starts behind the first draft",
        filled([[0.5, 0.5]], [1, 1, 0.1, 0.1], [True]),
        [0],
        static=GLOBAL,
    ),
    schedule(
        "schedule-beyond-the-drafts-global",
        "the table is read for more drafts than the live rows have",
        ([[0.5], [1]], [1, 1, 0.1, 100, 100], [True, False]),
        [0, 0],
        static=GLOBAL,
    ),
    schedule("schedule-all", "every draft is worth it", filled([[0.9, 0.5], [0.5, 0.1]], FLAT, [True, True]), [2, 2]),
    schedule(
        "schedule-all-global",
        "every draft is worth it, and nothing comes behind them",
        filled([[0.9, 0.5], [0.5, 0.1]], FLAT, [True, True]),
        [2, 2],
        static=GLOBAL,
    ),
    schedule(
        "schedule-table-of-one",
        "fewer entries than rows: the table is read past its end",
        ([[0.5, 0.25], [0.5, 0.25]], [3.5], [True, True]),
        [2, 2],
    ),
    schedule(
        "schedule-short-table",
        "a table that ends before the batch is: its last entry holds for all that are larger",
        ([[0.9, 0.9, 0.9]], [0.1, 1, 1], [True]),
        [3],
    ),
    schedule(
        "schedule-first-entries",
        "entries for fewer tokens than there are anchors are read",
        filled([[0.5], [0.5]], [100, 100, 1, 1, 1], [True, True]),
        [1, 1],
    ),
    schedule("schedule-no-columns", "speculation is off", (nothing(2, 0), TABLE, [True, True]), [0, 0]),
    schedule(
        "schedule-no-columns-global", "speculation is off", (nothing(2, 0), TABLE, [True, True]), [0, 0], static=GLOBAL
    ),
    schedule("schedule-no-rows", "no rows", (nothing(0, 3), TABLE, []), []),
    schedule("schedule-no-rows-global", "no rows", (nothing(0, 3), TABLE, []), [], static=GLOBAL),
    schedule("schedule-nothing", "neither rows nor columns", (nothing(0, 0), [1], []), []),
    schedule(
        "schedule-transposed",
        "confidences laid out column by column are read in storage order",
        (Laid("transposed", [[0.97, 0.95, 0.93], [0.4, 0.2, 0.1]]), TABLE, [True, True]),
        [2, 0],
    ),
    schedule(
        "schedule-strided",
        "every other entry of a wider array",
        (
            Laid("strided", [[0.97, 0.95, 0.93], [0.4, 0.2, 0.1], [1, 1, 1], [1, 1, 1]]),
            Laid("strided", TABLE),
            Laid("strided", [True, True, False, False]),
        ),
        [2, 0, 0, 0],
    ),
    fault(
        "schedule_verify_lens",
        "error-int-confidence",
        "integer confidences",
        (np.array([[1, 0]], np.int32), [1, 1, 1], [True]),
        "confidence",
    ),
    fault(
        "schedule_verify_lens",
        "error-empty-table",
        "a table without an entry has no last one",
        ([[0.5, 0.5]], [], [True]),
        "sps_table",
    ),
    fault(
        "schedule_verify_lens",
        "error-empty-table-no-rows",
        "a table without an entry, though nobody would read it",
        (nothing(0, 3), [], []),
        "sps_table",
    ),
)
