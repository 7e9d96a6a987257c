"""Section 10 for many calls at once."""

import numpy as np
from jaxtyping import Bool, Float32, Int32

from parity_tests.kit.reference._tables import PerRow, Record


def schedule_verify_lens(
    confidence: Float32[np.ndarray, "N B K"],
    sps_table: Float32[np.ndarray, "N M"],
    live: Bool[np.ndarray, "N B"],
    *,
    early_stop: bool = True,
) -> PerRow:
    """Drafts are ranked against each other; those of a rank below the number admitted are counted.

    >>> confidence, sps_table = np.array([[[0.5], [0.5]]], np.float32), np.array([[1, 1, 1, 0.8, 1]], np.float32)
    >>> live = np.array([[True, True]])
    >>> [schedule_verify_lens(confidence, sps_table, live, early_stop=early).tolist() for early in (True, False)]
    [[[0, 0]], [[1, 1]]]
    """
    calls, batch, columns = confidence.shape
    bits = min(20, 30 - int(np.ceil(np.log2(max(batch * (columns + 1), 1)))))
    fixed = np.where(live[:, :, None], _fixed_survival(confidence, bits), -1).reshape(calls, -1)
    order = np.argsort(-fixed, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(batch * columns), order.shape), 1)
    rows = live.sum(1, dtype=np.int32)[:, None]
    gained = np.cumsum(np.take_along_axis(fixed, order, 1), axis=1, dtype=np.int32)
    expected = (rows << bits) + np.pad(gained, ((0, 0), (1, 0)))
    count = np.arange(batch * columns + 1)
    rate = np.take_along_axis(sps_table, np.minimum(rows + count, sps_table.shape[1] - 1), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        theta = expected.astype(np.float32) * np.where(rate >= np.float32(2.0**-126), rate, np.float32(0))
    there = count <= rows * columns
    if early_stop:
        stops = np.pad(~(theta[:, 1:] > theta[:, :-1]), ((0, 0), (0, 1))) | (count == rows * columns)
        admitted = stops.argmax(1)
    else:
        admitted = np.where(there, theta, np.float32(-1)).argmax(1)
    return (live[:, :, None] & (rank < admitted[:, None]).reshape(confidence.shape)).sum(2, dtype=np.int32)


def bound_query_lens(
    verify_lens: PerRow,
    num_accepted_max: Int32[np.ndarray, " N"],
    scheduled_lens: PerRow,
    *,
    num_speculative_tokens: int,
) -> Record:
    """What each row verifies and the token before it, cut to what was scheduled.

    >>> bounded = bound_query_lens(np.array([[5, -1]]), np.array([0]), np.array([[2, 6]]), num_speculative_tokens=5)
    >>> bounded["query_lens"].tolist(), bounded["representable"].tolist()
    ([[2, 6]], [True])
    """
    most = np.int32(num_speculative_tokens)
    accepted = np.clip(num_accepted_max, 0, most)[:, None]
    wanted = np.maximum(np.where(verify_lens < 0, most, np.minimum(verify_lens, most)), accepted) + np.int32(1)
    lens = np.select([scheduled_lens < 0, scheduled_lens > 0], [wanted, np.minimum(wanted, scheduled_lens)], 0)
    short = (scheduled_lens > 0) & (scheduled_lens < accepted + np.int32(1))
    return {"query_lens": lens.astype(np.int32), "representable": ~short.any(1)}


def _fixed_survival(confidence: Float32[np.ndarray, "N B K"], bits: int) -> Int32[np.ndarray, "N B K"]:
    survival = np.clip(np.nan_to_num(confidence), 0, 1)
    for column in range(1, survival.shape[2]):
        survival[:, :, column] *= survival[:, :, column - 1]
    return np.rint(survival * np.float32(2**bits)).astype(np.int32)
