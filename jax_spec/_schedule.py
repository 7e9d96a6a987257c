"""How many drafts each row verifies, chosen by what they are worth, and the query lengths that follow."""

from collections.abc import Sequence
from functools import partial
from itertools import accumulate

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float32, Int32

from jax_spec._arguments import LARGEST, operation
from jax_spec._spans import prefix_sum, take
from jax_spec._types import BoundedLens

# With more tokens an accelerator sorts, as a CPU always does: some kernels more, but O(n log n) against O(n**2).
COMPARED_TOKENS = 4096
# Beyond, a loop: compiling grows with every multiply, to minutes at 512 of them.
UNROLLED_COLUMNS = 32
LEAST_NORMAL = 2.0**-126
_FASTEST = float(np.finfo(np.float32).max)


@operation("early_stop")
def schedule_verify_lens(
    confidence: Float32[Array, "B K"],
    sps_table: Float32[Array, " N"],
    live: Bool[Array, " B"],
    *,
    early_stop: bool = True,
) -> Int32[Array, " B"]:
    """Admits drafts into the step, the likeliest first, for as long as they raise its expected yield a second.

    Equivalent NumPy, where the batch is the R rows that are live, and `s = min(20, 30 - ceil(log2(B * K + B)))`:

        q = np.rint(np.cumprod(np.clip(np.nan_to_num(confidence), 0, 1), axis=1) * 2**s).astype(np.int32).ravel()
        order = np.argsort(-q, stable=True)
        tau = R * 2**s + np.cumsum(np.append(0, q[order]))
        theta = tau.astype(np.float32) * sps_table[np.minimum(R + np.arange(R * K + 1), N - 1)]
        first = next((m for m in range(R * K) if theta[m + 1] <= theta[m]), R * K)
        np.bincount(order[: first if early_stop else np.argmax(theta)] // K, minlength=R)

    Products are taken from left to right in float32, sums in fixed point: the result is the same on every device.

    Args:
        confidence: chance that each draft is accepted if those before it are, float32 `[B, K]`; held to `[0, 1]`, NaN
            is 0.
        sps_table: steps a second that a batch of so many tokens runs at, float32 `[N]`, N >= 1; the last entry stands
            for all larger batches too. An entry that is not at least 2**-126 is 0.
        live: which rows take part, bool `[B]`.
        early_stop: whether to stop at the first draft that doesn't raise the yield, else at the highest yield.

    Returns:
        Drafts that each row verifies, int32 `[B]`; 0 for a row that is not live.

    B and K decide what the program looks like: in an exported one they are numbers, and only N may be symbolic.

    Source: DSpark, Algorithm 1, the hardware-aware prefix scheduler.

    >>> confidence = jnp.array([[0.97, 0.95, 0.93], [0.4, 0.2, 0.1]], jnp.float32)
    >>> sps = jnp.array([1, 1, 0.9, 0.75, 0.6, 0.45, 0.3, 0.2], jnp.float32)
    >>> schedule_verify_lens(confidence, sps, jnp.array([True, True])).tolist()
    [2, 0]
    """
    keys = _keys(confidence, live)
    by_sort, by_comparison = (partial(form, early_stop=early_stop) for form in (_stop_by_sort, _stop_by_comparison))
    either = partial(lax.platform_dependent, cpu=by_sort, default=by_comparison)
    stop = (by_sort if keys.size > COMPARED_TOKENS else either)(keys.ravel(), sps_table)
    return jnp.sum(keys[:, 1:] < stop, axis=1, dtype=jnp.int32)


@operation("num_speculative_tokens")
def bound_query_lens(
    verify_lens: Int32[Array, " B"],
    num_accepted_max: Int32[Array, ""],
    scheduled_lens: Int32[Array, " B"],
    *,
    num_speculative_tokens: int,
) -> BoundedLens:
    """Query lengths for those verify lengths, within what the host scheduled, and whether that can be done.

    Equivalent NumPy:

        accepted = np.clip(num_accepted_max, 0, K)
        lens = np.maximum(np.where(verify_lens < 0, K, np.minimum(verify_lens, K)), accepted) + 1
        query_lens = np.where(scheduled_lens < 0, lens, np.minimum(lens, scheduled_lens))
        representable = not np.any((0 < scheduled_lens) & (scheduled_lens < accepted + 1))

    Args:
        verify_lens: drafts that each row should verify, int32 `[B]`, as from `schedule_verify_lens`; negative where
            that is not known, which is as good as K.
        num_accepted_max: the most drafts that any row had accepted, int32 scalar: no row gets shorter than that.
        scheduled_lens: tokens that each row may have at most, int32 `[B]`; 0 for an empty row, negative for no bound.
        num_speculative_tokens: K, the most drafts that a row can have.

    Returns:
        `BoundedLens`; where it is not representable, the step must stay rectangular.

    Source: ROCm/ATOM, pull request 1861.

    >>> arrays = ([5, 2, 0, -1, 9], 0, [2, 6, 0, 6, -1])
    >>> bounded = bound_query_lens(*(jnp.array(x, jnp.int32) for x in arrays), num_speculative_tokens=5)
    >>> bounded.query_lens.tolist(), bool(bounded.representable)
    ([2, 3, 0, 6, 6], True)
    """
    most = num_speculative_tokens
    wanted = jnp.where(verify_lens < 0, most, jnp.minimum(verify_lens, most))
    accepted = jnp.clip(num_accepted_max, 0, most)
    lens = jnp.maximum(wanted, accepted) + 1
    bounded = jnp.where(scheduled_lens < 0, lens, jnp.minimum(lens, scheduled_lens))
    lacking = (scheduled_lens > 0) & (scheduled_lens < accepted + 1)
    return BoundedLens(jnp.where(scheduled_lens == 0, 0, bounded), ~jnp.any(lacking))


def throughput_table(
    num_tokens: Sequence[int], steps_per_second: Sequence[float], *, size: int
) -> Float32[np.ndarray, " N"]:
    """The `sps_table` of an engine that was measured at a few batches: linear between them, level outside.

    Equivalent NumPy, in float64:

        np.interp(np.arange(size), num_tokens, steps_per_second).astype(np.float32)

    It is made on the host, once.

    Args:
        num_tokens: tokens of each batch that was measured, in rising order.
        steps_per_second: how many steps a second each of them ran at.
        size: N, one more than the most tokens of a batch.

    Returns:
        Steps a second for 0 to N - 1 tokens, a NumPy array, float32 `[N]`.

    Raises:
        ValueError: `num_tokens` isn't a rising sequence of ints from 0, one at least, `steps_per_second` isn't as many
            finite float32 numbers from 0, or `size` is no int of at least 1.

    >>> throughput_table([2, 4], [80.0, 60.0], size=6).tolist()
    [80.0, 80.0, 80.0, 70.0, 60.0, 60.0]
    """
    tokens, speeds = np.asarray(num_tokens), np.asarray(steps_per_second)
    rising = tokens.ndim == 1 and tokens.dtype.kind in "iu" and (np.diff(tokens.astype(float), prepend=-0.5) > 0).all()
    if not rising or tokens.size == 0:
        raise ValueError(f"`num_tokens`: got {num_tokens!r}, expected rising ints from 0, one at least")
    if speeds.shape != tokens.shape or speeds.dtype.kind not in "iuf":
        raise ValueError(f"`steps_per_second`: got {steps_per_second!r}, expected {tokens.size} numbers")
    if not all(0 <= speed <= _FASTEST for speed in speeds.tolist()):
        raise ValueError(f"`steps_per_second`: got {steps_per_second!r}, expected finite float32 numbers from 0")
    if type(size) is not int or not 1 <= size <= LARGEST:
        raise ValueError(f"`size`: got {size!r} ({type(size).__name__}), expected an int from 1 to {LARGEST}")
    return np.interp(range(size), tokens, speeds).astype(np.float32)


def _keys(confidence: Float32[Array, "B K"], live: Bool[Array, " B"]) -> Int32[Array, "B K1"]:
    """One int32 a token, in the order of admission: falling survival above, flat index below; LARGEST for none.

    The anchor in front of each row's drafts is the token that is surely accepted. All anchors have key 0, below every
    draft, so that counts and sums over keys begin with the R tokens and the yield R of a step without drafts.
    """
    rows, columns = confidence.shape
    unit, bits = _fixed_point(rows * columns + rows)
    survival = jnp.round(_products(confidence) * unit).astype(jnp.int32)
    row, column = (lax.broadcasted_iota(jnp.int32, survival.shape, axis) for axis in (0, 1))
    index = jnp.where(column == 0, 0, row * (columns + 1) + column)
    return jnp.where(live[:, None], ((unit - survival) << bits) | index, LARGEST)


def _products(confidence: Float32[Array, "B K"]) -> Float32[Array, "B K1"]:
    """The chance of each token, from left to right: a scan in parallel would multiply, and round, in another order."""
    rows, columns = confidence.shape
    certain, ones = jnp.where(confidence > 0, jnp.minimum(confidence, 1), 0), jnp.ones(rows, jnp.float32)
    if columns <= UNROLLED_COLUMNS:
        products = accumulate((certain[:, j] for j in range(columns)), jnp.multiply, initial=ones)
        return jnp.stack(list(products), axis=1)
    _, behind = lax.scan(lambda left, factor: (left * factor, left * factor), certain[:, 0], certain[:, 1:].T)
    return jnp.concatenate([ones[:, None], certain[:, :1], behind.T], axis=1)


def _fixed_point(tokens: int) -> tuple[int, int]:
    """What a survival of 1 is in fixed point, so that the sum over all tokens fits int32; the bits of an index."""
    bits = (tokens - 1).bit_length()
    return 1 << min(20, 30 - bits), bits


def _gains(keys: Int32[Array, " BL"]) -> Int32[Array, " BL"]:
    """The survival in each key; anything where it is never admitted."""
    unit, bits = _fixed_point(keys.size)
    return unit - (keys >> bits)


def _theta(tau: Int32[Array, " BL"], tokens: Int32[Array, " BL"], sps_table: Float32[Array, " N"]) -> Array:
    """Expected yield a second of batches that expect `tau` and have so many tokens."""
    speed = take(sps_table, jnp.minimum(tokens, sps_table.size - 1))
    return tau.astype(jnp.float32) * jnp.where(speed >= LEAST_NORMAL, speed, 0)


def _stop_by_sort(keys: Int32[Array, " BL"], sps_table: Float32[Array, " N"], *, early_stop: bool) -> Int32[Array, ""]:
    keys = lax.sort(keys, is_stable=False)
    theta = _theta(prefix_sum(_gains(keys)), jnp.arange(1, keys.size + 1, dtype=jnp.int32), sps_table)
    return _stop(keys[1:], theta[:-1], theta[1:], early_stop)


def _stop_by_comparison(
    keys: Int32[Array, " BL"], sps_table: Float32[Array, " N"], *, early_stop: bool
) -> Int32[Array, ""]:
    gains, admitted = _gains(keys), keys[None, :] <= keys[:, None]
    tokens = jnp.sum(admitted, axis=1, dtype=jnp.int32)
    tau = jnp.sum(jnp.where(admitted, gains[None, :], 0), axis=1, dtype=jnp.int32)
    before, after = _theta(tau - gains, tokens - 1, sps_table), _theta(tau, tokens, sps_table)
    return _stop(keys, before, after, early_stop)


def _stop(keys: Array, before: Array, after: Array, early_stop: bool) -> Int32[Array, ""]:
    """The least key of a draft that is not worth it, by the yields before and after it; LARGEST where all are."""
    draft = (keys > 0) & (keys < LARGEST)
    if early_stop:
        useless = after <= before
    else:
        useless = before == jnp.max(jnp.where(draft, jnp.maximum(before, after), 0), initial=0)
    return jnp.min(jnp.where(draft & useless, keys, LARGEST), initial=LARGEST)
