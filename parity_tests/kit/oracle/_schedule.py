"""Section 10: how many drafts each row verifies, and how long its query may then be."""

import numpy as np
from jaxtyping import Bool, Float32

from parity_tests.kit.oracle._int32 import wrap
from parity_tests.kit.oracle._types import PerRow, Record, Scalar

ZERO, ONE = np.float32(0), np.float32(1)
# Some compilers flush what is smaller to zero.
SMALLEST_RATE = np.float32(2.0**-126)


def schedule_verify_lens(
    confidence: Float32[np.ndarray, "B K"],
    sps_table: Float32[np.ndarray, " N"],
    live: Bool[np.ndarray, " B"],
    *,
    early_stop: bool = True,
) -> PerRow:
    """Drafts of all live rows admitted by falling survival, as long as the yield a second grows.

    >>> confidence = np.array([[0.97, 0.95, 0.93], [0.4, 0.2, 0.1]], np.float32)
    >>> sps_table = np.array([1, 1, 0.9, 0.75, 0.6, 0.45, 0.3, 0.2], np.float32)
    >>> schedule_verify_lens(confidence, sps_table, np.array([True, True])).tolist()
    [2, 0]
    """
    batch, columns = confidence.shape
    bits = scale_bits(batch * columns + batch)
    drafts = []
    for i in range(batch):
        survival = ONE
        for j in range(columns):
            survival = survival * _probability(confidence[i, j])
            # A float32 times a power of two is exact in a double, and `round` takes the even one of two as near.
            drafts.append((round(float(survival) * 2**bits), i))
    queue = [draft for draft in drafts if live[draft[1]]]
    queue.sort(key=lambda draft: -draft[0])  # stable: of equal ones the first in row-major order comes first
    admitted = _num_admitted([fixed for fixed, _ in queue], int(live.sum()), bits, sps_table, early_stop)
    lens = np.zeros(batch, np.int32)
    for _, i in queue[:admitted]:
        lens[i] += 1
    return lens


def bound_query_lens(
    verify_lens: PerRow, num_accepted_max: Scalar, scheduled_lens: PerRow, *, num_speculative_tokens: int
) -> Record:
    """Query lengths for what each row verifies, no longer than scheduled; room for what may have been accepted.

    >>> scheduled = np.array([6, 2, -1, 0], np.int32)
    >>> bounded = bound_query_lens(
    ...     np.array([2, 1, 9, 9], np.int32), np.array(3, np.int32), scheduled, num_speculative_tokens=5
    ... )
    >>> bounded["query_lens"].tolist(), bounded["representable"].tolist()
    ([4, 2, 6, 0], False)
    """
    accepted = min(max(int(num_accepted_max), 0), num_speculative_tokens)
    lens, representable = [], True
    for verify, scheduled in zip(verify_lens.tolist(), scheduled_lens.tolist(), strict=True):
        wanted = num_speculative_tokens if verify < 0 else min(verify, num_speculative_tokens)
        length = wrap(max(wanted, accepted) + 1)
        if scheduled == 0:
            length = 0
        elif scheduled > 0:
            length = min(length, scheduled)
            representable = representable and scheduled >= wrap(accepted + 1)
        lens.append(length)
    return {"query_lens": np.array(lens, np.int32), "representable": np.array(representable)}


def scale_bits(tokens: int) -> int:
    """`s`, the binary places of a survival, so that the sum over that many tokens stays below `2**31`.

    >>> scale_bits(0), scale_bits(1024), scale_bits(1025)
    (20, 20, 19)
    """
    bits = 30
    while tokens > 2 ** (30 - bits):
        bits -= 1
    return min(20, bits)


def _probability(confidence: np.float32) -> np.float32:
    if np.isnan(confidence):
        return ZERO
    return min(max(confidence, ZERO), ONE)


def _num_admitted(queue: list[int], rows: int, bits: int, sps_table: Float32[np.ndarray, " N"], early: bool) -> int:
    """How many of the drafts in the queue are admitted."""
    expected = rows * 2**bits
    best, best_yield = 0, _yield_a_second(expected, rows, sps_table)
    before = best_yield
    for m, fixed in enumerate(queue, 1):
        expected += fixed
        now = _yield_a_second(expected, rows + m, sps_table)
        if early and now <= before:
            return m - 1
        if now > best_yield:
            best, best_yield = m, now
        before = now
    return len(queue) if early else best


def _yield_a_second(expected: int, tokens: int, sps_table: Float32[np.ndarray, " N"]) -> np.float32:
    rate = sps_table[min(tokens, len(sps_table) - 1)]
    if not rate >= SMALLEST_RATE:
        rate = ZERO
    # Infinity is a legal speed; times no rows at all it is NaN, and then there are no drafts to compare.
    with np.errstate(over="ignore", invalid="ignore"):
        return np.float32(expected) * rate
