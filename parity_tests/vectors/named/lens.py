"""Section 10: query lengths within what was scheduled, with room for what was accepted."""

from functools import partial

import numpy as np

from parity_tests.kit.cases import Case
from parity_tests.kit.named import ATOM, INT_MAX, INT_MIN, Laid, case, empty

bound = partial(case, "bound_query_lens")
ATOM_1861 = ATOM + "1861"


def one(name: str, comment: str, given: tuple[int, int, int], length: int, *, representable: bool = True) -> Case:
    """A batch of one row, of five drafts at most: what to verify, what was accepted, what is scheduled."""
    verify, accepted, scheduled = given
    inputs, expected = ([verify], accepted, [scheduled]), ([length], representable)
    return bound(name, comment, inputs, expected, static={"num_speculative_tokens": 5})


CASES = (
    bound(
        "bounded-lens",
        "a stale verify length exceeds what was scheduled; negative means no limit or unknown; 0 is an empty row",
        ([5, 2, 0, -1, 99, 2, 2], 0, [2, 6, 6, 6, 6, -1, 0]),
        ([2, 3, 1, 6, 6, 3, 0], True),
        static={"num_speculative_tokens": 5},
        source=ATOM_1861,
    ),
    bound(
        "bounded-lens-accepted",
        "what was accepted must fit again",
        ([0, 1], 3, [6, 4]),
        ([4, 4], True),
        static={"num_speculative_tokens": 5},
    ),
    bound(
        "bounded-lens-no-room",
        "the scheduled length leaves no room for what was already accepted",
        ([0, 1, 1], 3, [6, 2, 4]),
        ([4, 2, 4], False),
        static={"num_speculative_tokens": 5},
        source=ATOM_1861,
    ),
    one("bounded-scheduled", "the scheduled length is passed over", (5, 0, 2), 2),
    one("bounded-verified", "the anchor is forgotten", (2, 0, 6), 3),
    one("bounded-nothing-to-verify", "a row without drafts still forwards its anchor", (0, 0, 6), 1),
    one("bounded-unknown", "unknown is taken for none", (-1, 0, 6), 6),
    one("bounded-unknown-lowest", "any negative number is unknown", (INT_MIN, 0, 6), 6),
    one("bounded-accepted", "what was accepted is cut off", (0, 3, 6), 4),
    one("bounded-no-room", "no length is right", (1, 3, 2), 2, representable=False),
    one("bounded-just-room", "exactly the room that is needed", (1, 3, 4), 4),
    one("bounded-one-short", "one token short of the room that is needed", (1, 3, 3), 3, representable=False),
    one("bounded-too-many", "more than there are drafts", (99, 0, 6), 6),
    one("bounded-largest", "the largest of everything wraps before it is bounded", (INT_MAX, INT_MAX, INT_MAX), 6),
    one("bounded-unbounded", "negative is no bound", (2, 0, -1), 3),
    one("bounded-unbounded-lowest", "any negative number is no bound", (2, 0, INT_MIN), 3),
    one("bounded-unbounded-accepted", "a row without a bound has room for everything", (0, 5, -1), 6),
    one("bounded-empty", "an empty row is given its anchor", (2, 0, 0), 0),
    one("bounded-empty-accepted", "an empty row needs no room", (2, 5, 0), 0),
    one("bounded-accepted-negative", "a count below 0 shortens a row", (2, -3, 6), 3),
    one("bounded-accepted-lowest", "the lowest count wraps", (0, INT_MIN, 1), 1),
    one("bounded-accepted-too-many", "more accepted than there are drafts", (0, 99, 6), 6),
    one("bounded-accepted-too-many-no-room", "the clip comes after the comparison", (0, 99, 5), 5, representable=False),
    one("bounded-scheduled-generous", "a bound above all drafts is a length", (5, 0, 100), 6),
    bound(
        "bounded-one-of-many",
        "one row without room among many",
        ([3, 3, 3, 3, 3, 3], 2, [4, 0, -1, 2, 9, 3]),
        ([4, 0, 4, 2, 4, 3], False),
        static={"num_speculative_tokens": 3},
    ),
    bound(
        "bounded-no-drafts",
        "speculation is off: every row is its anchor or empty",
        ([0, -1, 5, 2], 0, [1, 6, -1, 0]),
        ([1, 1, 1, 0], True),
        static={"num_speculative_tokens": 0},
    ),
    bound(
        "bounded-no-drafts-accepted",
        "speculation is off: nothing can have been accepted",
        ([0], 4, [1]),
        ([1], True),
        static={"num_speculative_tokens": 0},
    ),
    bound(
        "bounded-no-rows",
        "no rows: there is nothing that has no room",
        ([], 3, []),
        ([], True),
        static={"num_speculative_tokens": 5},
    ),
    bound(
        "bounded-wraps",
        "one more than the largest int32 saturates or is widened instead of wrapping",
        ([-1, 7, INT_MAX, 7, -1], 0, [-1, -1, 9, 9, 0]),
        ([INT_MIN, 8, INT_MIN, 8, 0], True),
        static={"num_speculative_tokens": INT_MAX},
    ),
    bound(
        "bounded-wraps-accepted",
        "the room for the largest int32 and one more wraps, too",
        ([1, 1], INT_MAX, [5, -1]),
        ([INT_MIN, INT_MIN], True),
        static={"num_speculative_tokens": INT_MAX},
    ),
    bound(
        "bounded-wraps-nearly",
        "one below the largest int32 does not wrap",
        ([-1, 1], INT_MAX - 1, [-1, INT_MAX]),
        ([INT_MAX, INT_MAX], True),
        static={"num_speculative_tokens": INT_MAX - 1},
    ),
    bound(
        "bounded-strided",
        "every other entry of a wider array",
        (Laid("strided", [5, 2, 0]), 1, Laid("strided", [2, 6, 6])),
        ([2, 3, 2], True),
        static={"num_speculative_tokens": 5},
    ),
    bound(
        "bounded-scalar-from-a-table",
        "the count is a scalar array, which is no row",
        (empty(2), np.array(0, np.int32), [4, 4]),
        ([1, 1], True),
        static={"num_speculative_tokens": 3},
    ),
)
