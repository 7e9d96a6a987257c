"""How much to verify: drafts chosen by their worth against the engine's speed, and query lengths that hold them."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float32, Int32
from torch import Tensor

from torch_ref._arguments import Argument, check_arrays, check_flag, check_size, check_static
from torch_ref._types import BoundedLens

# The smallest normal float32: below it some compilers flush to 0, so here everything below it is 0.
SMALLEST_RATE = 2.0**-126


def schedule_verify_lens(
    confidence: Float32[Tensor, "B K"],
    sps_table: Float32[Tensor, " N"],
    live: Bool[Tensor, " B"],
    *,
    early_stop: bool = True,
) -> Int32[Tensor, " B"]:
    """How many drafts each row verifies: the likeliest of all rows, as long as more tokens a second are expected.

        survival = np.cumprod(np.clip(np.nan_to_num(confidence), 0, 1), axis=1)  # in float32, left to right
        q = np.rint(survival * 2**s)[live].ravel()  # s = min(20, 30 - ceil(log2(B * K + B))), R = live.sum()
        tau = R * 2**s + np.cumsum(np.concatenate([[0], -np.sort(-q)]))  # expected tokens with m drafts, times 2**s
        theta = np.float32(tau) * sps_table[np.minimum(R + np.arange(tau.size), N - 1)]

    The same result everywhere: the sums are of integers, and equal drafts are taken in row-major order.

    Args:
        confidence: `[B, K]` the drafter's probability that a draft is accepted if those before it are; NaN counts as
            0, and what is outside 0 .. 1 as the nearer of them.
        sps_table: `[N]` steps a second by the number of tokens in the step, the last entry for all numbers above; an
            entry that is not at least `2**-126` counts as 0. See `throughput_table`.
        live: `[B]` whether the row is a request; the others get no drafts and count as no tokens.
        early_stop: stop at the first draft that brings no gain; otherwise take the best number of drafts of all.

    Returns:
        `[B]` drafts to verify, 0 to `K`.

    Raises:
        ValueError: an array is not a float32 or bool tensor, the shapes disagree, the table is empty, or `early_stop`
            is no bool.

    Source: Algorithm 1 of the DSpark paper.

    >>> confidence = torch.tensor([[0.97, 0.95, 0.93], [0.4, 0.2, 0.1]])
    >>> sps_table = torch.tensor([1, 1, 0.9, 0.75, 0.6, 0.45, 0.3, 0.2])
    >>> schedule_verify_lens(confidence, sps_table, torch.tensor([True, True])).tolist()
    [2, 0]
    """
    table = Argument("sps_table", sps_table, "N", torch.float32)
    sizes = check_arrays(
        Argument("confidence", confidence, "B K", torch.float32),
        table,
        Argument("live", live, "B", torch.bool),
    )
    check_size(table, 1)
    check_flag("early_stop", early_stop)
    rows, columns = sizes["B"], sizes["K"]
    bits = _scale_bits(rows * (columns + 1))
    worth = torch.where(live[:, None], _survival(confidence, bits), -1).reshape(-1)
    worth, order = worth.sort(stable=True, descending=True)
    num_live = live.sum(dtype=torch.int32)
    theta = _theta(worth.clamp(min=0), num_live, bits, sps_table)
    admitted = _first_stop(theta, num_live * columns) if early_stop else _first_best(theta, num_live * columns)
    place = torch.arange(rows * columns, dtype=torch.int32, device=live.device)
    owner = torch.div(order, max(columns, 1), rounding_mode="floor")
    return live.new_zeros(rows, dtype=torch.int32).scatter_add(0, owner, (place < admitted).to(torch.int32))


def bound_query_lens(
    verify_lens: Int32[Tensor, " B"],
    num_accepted_max: Int32[Tensor, ""],
    scheduled_lens: Int32[Tensor, " B"],
    *,
    num_speculative_tokens: int,
) -> BoundedLens:
    """Query lengths that hold what each row verifies, within what was scheduled for it.

        v = np.where(verify_lens < 0, K, np.minimum(verify_lens, K))
        a = np.clip(num_accepted_max, 0, K)
        bound = np.where(scheduled_lens < 0, K + 1, scheduled_lens)
        query_lens = np.minimum(np.maximum(v, a) + 1, bound)

    Args:
        verify_lens: `[B]` drafts that each row should verify; negative where that is not known, which is all `K`.
        num_accepted_max: `[]` the most drafts that any row may have had accepted: no row is made shorter than them.
        scheduled_lens: `[B]` tokens that the scheduler allows for each row: 0 for an empty row, negative for no bound.
        num_speculative_tokens: `K`, the most drafts that a row can have.

    Returns:
        `query_lens[B]`, and `representable[]` (bool): False where a row is allowed fewer than `a + 1` tokens, so that
        no length is right and the step has to stay rectangular.

    Raises:
        ValueError: an array is not an int32 tensor, the shapes disagree, or `num_speculative_tokens` is no int of at
            least 0.

    Source: https://github.com/ROCm/ATOM/pull/1861.

    >>> verify_lens, scheduled = (torch.tensor(x, dtype=torch.int32) for x in ([0, 1, -1, 2], [6, 4, -1, 0]))
    >>> bounded = bound_query_lens(verify_lens, torch.tensor(3, dtype=torch.int32), scheduled, num_speculative_tokens=5)
    >>> bounded.query_lens.tolist(), bounded.representable.tolist()
    ([4, 4, 6, 0], True)
    """
    check_arrays(
        Argument("verify_lens", verify_lens, "B"),
        Argument("num_accepted_max", num_accepted_max, ""),
        Argument("scheduled_lens", scheduled_lens, "B"),
    )
    check_static("num_speculative_tokens", num_speculative_tokens, 0)
    verified = torch.where(verify_lens < 0, num_speculative_tokens, verify_lens.clamp(max=num_speculative_tokens))
    accepted = num_accepted_max.clamp(0, num_speculative_tokens)
    wanted = torch.maximum(verified, accepted) + 1
    query_lens = torch.where(scheduled_lens < 0, wanted, torch.minimum(wanted, scheduled_lens))
    # An empty row has no length that could be too short, and a row without a bound any that it needs.
    too_short = (scheduled_lens > 0) & (scheduled_lens < accepted + 1)
    return BoundedLens(torch.where(scheduled_lens == 0, 0, query_lens), ~too_short.any())


def throughput_table(
    num_tokens: Sequence[int], steps_per_second: Sequence[float], *, size: int
) -> Float32[np.ndarray, " N"]:
    """A table for `schedule_verify_lens` from a few measured steps: straight lines between them, flat outside.

        out = np.interp(np.arange(size), num_tokens, steps_per_second).astype(np.float32)

    For the host, when an engine starts; put the table on the device once.

    Args:
        num_tokens: tokens in each of the measured steps, increasing from 0 or more.
        steps_per_second: how many of such steps a second were measured, each finite and at least 0.
        size: `N`, entries of the table; one more than the most tokens that a step has.

    Returns:
        `[N]` float32 on the host, steps a second by the number of tokens; computed in float64.

    Raises:
        ValueError: there is no point, the two differ in length, tokens are not increasing integers of at least 0, a
            speed is not finite, is negative or beyond float32, or `size` is no int of at least 1.

    >>> throughput_table([1, 3], [100.0, 50.0], size=5).tolist()
    [100.0, 100.0, 75.0, 50.0, 50.0]
    """
    check_static("size", size, 1)
    tokens = _points("num_tokens", num_tokens, "integers", "iu")
    speeds = _points("steps_per_second", steps_per_second, "numbers", "iuf")
    if tokens.size != speeds.size:
        raise ValueError(f"`steps_per_second`: got {speeds.size} values, expected {tokens.size}, as in `num_tokens`")
    if tokens[0] < 0 or (tokens[1:] <= tokens[:-1]).any():
        raise ValueError(f"`num_tokens`: got {tokens.tolist()}, expected increasing numbers of at least 0")
    if not ((speeds >= 0) & (speeds <= np.finfo(np.float32).max)).all():
        raise ValueError(f"`steps_per_second`: got {speeds.tolist()}, expected finite float32 numbers of at least 0")
    return np.interp(np.arange(size), tokens, speeds).astype(np.float32)


def _scale_bits(tokens: int) -> int:
    """`s`, such that the survivals of so many tokens, times `2**s`, sum up within int32."""
    return min(20, 30 - (max(tokens, 1) - 1).bit_length())


def _survival(confidence: Float32[Tensor, "B K"], bits: int) -> Int32[Tensor, "B K"]:
    """The probability that a draft and all before it are accepted, in units of `2**-bits`."""
    # No comparison with NaN is true, and -0.0 is not above 0.
    likely = torch.where(confidence > 0, confidence.clamp(max=1), 0)
    # One multiply after the other: `cumprod` is a scan, whose order and last bit differ between devices.
    columns = list(likely.unbind(1))
    for column in range(1, len(columns)):
        columns[column] = columns[column - 1] * columns[column]
    survival = torch.stack(columns, 1) if columns else likely
    return (survival * 2.0**bits).round().to(torch.int32)


def _theta(
    worth: Int32[Tensor, " BK"], num_live: Int32[Tensor, ""], bits: int, sps_table: Float32[Tensor, " N"]
) -> Float32[Tensor, " BK_plus_1"]:
    """Expected tokens a second, times `2**bits`, with 0, 1, ... of the sorted drafts admitted."""
    expected = torch.cat([torch.zeros_like(num_live)[None], worth.cumsum(0, dtype=torch.int32)]) + num_live * 2**bits
    count = torch.arange(worth.shape[0] + 1, dtype=torch.int32, device=worth.device)
    rates = torch.where(sps_table >= SMALLEST_RATE, sps_table, 0)
    return expected.to(torch.float32) * rates[(num_live + count).clamp(max=sps_table.shape[0] - 1)]


def _first_stop(theta: Float32[Tensor, " BK_plus_1"], drafts: Int32[Tensor, ""]) -> Int32[Tensor, ""]:
    """The first number of drafts that one more would not improve; all of them at the latest."""
    count = torch.arange(theta.shape[0], dtype=torch.int32, device=theta.device)
    stops = (theta.roll(-1) <= theta) | (count >= drafts)
    return torch.where(stops, count, drafts).amin()


def _first_best(theta: Float32[Tensor, " BK_plus_1"], drafts: Int32[Tensor, ""]) -> Int32[Tensor, ""]:
    """The smallest number of drafts, of those that there are, with the largest yield."""
    count = torch.arange(theta.shape[0], dtype=torch.int32, device=theta.device)
    # Without a live row the yield may be NaN, which equals nothing.
    yields = torch.where(count <= drafts, theta, -1)
    return torch.where(yields == yields.amax(), count, drafts).amin()


def _points(name: str, values: Sequence[float], kind: str, kinds: str) -> np.ndarray:
    """The values as float64, of which there has to be one at least."""
    array = np.asarray(values)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in kinds:
        raise ValueError(f"`{name}`: got {values!r}, expected a sequence of {kind}, one at least")
    return array.astype(np.float64)
