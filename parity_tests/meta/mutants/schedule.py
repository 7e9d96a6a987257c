"""Mistakes in section 10: drafts of the wrong worth or in the wrong order, and admission that stops elsewhere."""

from functools import partial

from parity_tests.meta.mutants._mutant import Mutant


def _mutant(name: str, old: str, new: str, story: str, *, tolerated: bool = False) -> Mutant:
    return Mutant(name, "schedule_verify_lens", "_schedule.py", old, new, story, tolerated=tolerated)


_LIKELY = "torch.where(confidence > 0, confidence.clamp(max=1), 0)"
_PRODUCT = "columns[column] = columns[column - 1] * columns[column]\n"
_ROUND = "(survival * 2.0**bits).round()"
_WORTH = "torch.where(live[:, None], _survival(confidence, bits), -1)"
_SORT = "worth.sort(stable=True, descending=True)"
_LIVE = "live.sum(dtype=torch.int32)"
_PLACES = "min(20, 30 - (max(tokens, 1) - 1).bit_length())"
_RATES = "torch.where(sps_table >= SMALLEST_RATE, sps_table, 0)"
_BEST = "torch.where(yields == yields.amax(), count, drafts).amin()"

_of_survival = (
    _mutant("confidence-for-survival", _PRODUCT, "pass\n", "a draft behind a bad one is never looked at"),
    _mutant(
        "survival-in-doubles",
        "torch.stack(columns, 1) if columns else likely",
        "likely.double().cumprod(1)",
        "more precise, and another number",
    ),
    _mutant(
        "product-from-the-right",
        f"    for column in range(1, len(columns)):\n        {_PRODUCT}",
        "    single = columns.copy()\n"
        "    for column in range(1, len(columns)):\n"
        "        for one in reversed(single[:column]):\n"
        "            columns[column] = columns[column] * one\n",
        "a product is a product",
    ),
    _mutant(
        "product-of-pairs",
        f"    for column in range(1, len(columns)):\n        {_PRODUCT}",
        "    step = 1\n"
        "    while step < len(columns):\n"
        "        columns = columns[:step] + [a * b for a, b in zip(columns, columns[step:])]\n"
        "        step *= 2\n",
        "an associative scan, as a GPU makes it",
    ),
    _mutant("nan-is-certain", _LIKELY, "torch.where(confidence.isnan(), 1, confidence.clamp(0, 1))", "max(nan, 1)"),
    _mutant("more-than-certain", _LIKELY, "torch.where(confidence > 0, confidence, 0)", "a confidence is at most 1"),
    _mutant("less-than-nothing", _LIKELY, "confidence.nan_to_num(0).clamp(max=1)", "a confidence is at least 0"),
    _mutant("survival-cut-off", _ROUND, "(survival * 2.0**bits)", "a cast to int is good enough"),
    _mutant("survival-half-up", _ROUND, "(survival * 2.0**bits + 0.5).floor()", "how C programs round"),
    _mutant("survival-half-down", _ROUND, "(survival * 2.0**bits - 0.5).ceil()", "the other way to break a tie"),
    _mutant(
        "places-for-the-drafts-alone", "_scale_bits(rows * (columns + 1))", "_scale_bits(rows * columns)", "no anchors"
    ),
    _mutant("places-rounded-down", _PLACES, "min(20, 31 - max(tokens, 1).bit_length())", "floor(log2) for ceil(log2)"),
    _mutant("places-one-too-few", _PLACES, "min(20, 30 - max(tokens, 1).bit_length())", "a power of two counts twice"),
    _mutant("always-twenty-places", _PLACES, "20", "it never overflowed in a test"),
    _mutant("as-many-places-as-fit", _PLACES, "30 - (max(tokens, 1) - 1).bit_length()", "more places break more ties"),
)
_of_order = (
    _mutant("last-of-equals-first", _SORT, "(x.flip(0) for x in worth.sort(stable=True))", "sorted upwards and turned"),
    _mutant("unstable-sort", _SORT, "worth.topk(worth.numel())", "top-k says nothing about equal ones"),
    _mutant(
        "all-of-a-row-first",
        _SORT,
        "((x := torch.sort(-worth.reshape(rows, -1).amax(1), stable=True)[1].repeat_interleave(columns) * columns "
        "+ torch.arange(columns).repeat(rows)), worth[x])[::-1]",
        "a row is taken to its end before another has its turn",
    ),
    _mutant("idle-rows-are-offered", _WORTH, "_survival(confidence, bits)", "padding verifies drafts"),
    _mutant("idle-rows-are-counted", _LIVE, f"torch.full_like({_LIVE}, rows)", "the batch is as large as its buffer"),
    _mutant("owner-of-a-wider-row", "max(columns, 1)", "columns + 1", "the anchor counts as a column"),
    _mutant(
        "lens-in-64-bits",
        "live.new_zeros(rows, dtype=torch.int32).scatter_add(0, owner, (place < admitted).to(torch.int32))",
        "live.new_zeros(rows, dtype=torch.int64).scatter_add(0, owner, (place < admitted).to(torch.int64))",
        "the dtype that torch likes",
    ),
)
_of_yield = (
    _mutant("table-by-drafts", "(num_live + count).clamp(", "count.clamp(", "the table counts tokens, anchors too"),
    _mutant(
        "table-from-one", "(num_live + count).clamp(", "(num_live + count - 1).clamp(0, ", "the first entry is for 1"
    ),
    _mutant(
        "table-wraps", ".clamp(max=sps_table.shape[0] - 1)", " % sps_table.shape[0]", "an index kept inside, somehow"
    ),
    _mutant("yield-without-anchors", " + num_live * 2**bits", "", "the token that every row emits anyhow"),
    _mutant("yield-of-doubles", "expected.to(torch.float32) *", "expected.to(torch.float64) *", "double is safer"),
    _mutant(
        "sum-of-floats",
        "worth.cumsum(0, dtype=torch.int32)",
        'torch.stack([*__import__("itertools").accumulate(worth.float().unbind()), worth.sum()])[:-1]',
        "one after the other, as a loop on a device adds them up",
    ),
    _mutant("speed-as-it-is", _RATES, "sps_table", "the table is right"),
    _mutant("any-positive-speed", _RATES, "torch.where(sps_table > 0, sps_table, 0)", "some compilers flush the least"),
    _mutant("smallest-speed-lost", "sps_table >= SMALLEST_RATE", "sps_table > SMALLEST_RATE", "off by one, in floats"),
    _mutant("stops-below-only", "theta.roll(-1) <= theta", "theta.roll(-1) < theta", "no loss is taken for a gain"),
    _mutant(
        "stops-one-late", "torch.where(stops, count, drafts)", "torch.where(stops, count + 1, drafts)", "off by one"
    ),
    _mutant("last-of-two-best", _BEST, "torch.where(yields == yields.amax(), count, -1).amax()", "argmax from behind"),
    _mutant("best-of-nothing", _BEST, _BEST.replace("drafts", "theta.shape[0]"), "NaN equals nothing, not even itself"),
    _mutant("best-beyond-the-drafts", "torch.where(count <= drafts, theta, -1)", "theta", "idle rows have none"),
    _mutant(
        "stops-early-always",
        "if early_stop else _first_best(theta, num_live * columns)",
        "if early_stop else _first_stop(theta, num_live * columns)",
        "as upstream has it",
    ),
    _mutant(
        "best-of-all-always",
        "_first_stop(theta, num_live * columns) if early_stop",
        "_first_best(theta, num_live * columns) if early_stop",
        "better is better",
    ),
    _mutant("empty-table", "    check_size(table, 1)\n", "", "nobody hands over an empty table", tolerated=True),
)
_ANY_FLAG = Mutant(
    "flag-of-any-type",
    "schedule_verify_lens",
    "_arguments.py",
    "type(value) is not bool",
    "value not in (True, False)",
    "1 is True, and another program",
    tolerated=True,
)

_bound = partial(Mutant, operation="bound_query_lens", file="_schedule.py")
_VERIFIED = "torch.where(verify_lens < 0, num_speculative_tokens, verify_lens.clamp(max=num_speculative_tokens))"
_TOO_SHORT = "(scheduled_lens > 0) & (scheduled_lens < accepted + 1)"
_LENS = (
    _bound(
        "unknown-is-none",
        old=_VERIFIED,
        new="verify_lens.clamp(0, num_speculative_tokens)",
        story="length 1, as upstream",
    ),
    _bound(
        "stale-verify-length",
        old=_VERIFIED,
        new="torch.where(verify_lens < 0, num_speculative_tokens, verify_lens)",
        story="what was chosen for a longer draft",
    ),
    _bound(
        "scheduled-length-passed-over",
        old="torch.minimum(wanted, scheduled_lens)",
        new="wanted",
        story="the scheduler had room for less",
    ),
    _bound(
        "no-bound-is-a-bound",
        old="torch.where(scheduled_lens < 0, wanted, torch.minimum(wanted, scheduled_lens))",
        new="torch.minimum(wanted, scheduled_lens)",
        story="-1 taken for a length",
    ),
    _bound(
        "empty-row-has-its-anchor",
        old="torch.where(scheduled_lens == 0, 0, query_lens)",
        new="torch.where(scheduled_lens == 0, 1, query_lens)",
        story="every row forwards something",
    ),
    _bound(
        "empty-row-wraps",
        old="torch.where(scheduled_lens == 0, 0, query_lens)",
        new="query_lens",
        story="the minimum with 0 is 0, if nothing has wrapped",
    ),
    _bound(
        "anchor-forgotten",
        old="torch.maximum(verified, accepted) + 1",
        new="torch.maximum(verified, accepted)",
        story="drafts counted for tokens",
    ),
    _bound(
        "accepted-cut-off",
        old="torch.maximum(verified, accepted) + 1",
        new="verified + 1",
        story="the state already counts what was accepted",
    ),
    _bound(
        "accepted-beyond-the-drafts",
        old="num_accepted_max.clamp(0, num_speculative_tokens)",
        new="num_accepted_max",
        story="a count that nobody checks",
    ),
    _bound(
        "room-for-drafts-alone",
        old=_TOO_SHORT,
        new=_TOO_SHORT.replace(" + 1", ""),
        story="the anchor takes a place, too",
    ),
    _bound("empty-row-needs-room", old=_TOO_SHORT, new=_TOO_SHORT.replace("> 0", ">= 0"), story="nothing is too short"),
    _bound(
        "row-without-bound-needs-room",
        old=_TOO_SHORT,
        new=_TOO_SHORT.replace("> 0", "!= 0"),
        story="-1 is less than any length",
    ),
    _bound(
        "room-does-not-wrap",
        old=_TOO_SHORT,
        new="(scheduled_lens > 0) & (scheduled_lens <= accepted)",
        story="the same, except for the largest int32",
    ),
    _bound("every-row-too-short", old="~too_short.any()", new="~too_short.all()", story="one row is enough"),
    _bound(
        "row-by-row",
        old="~too_short.any()",
        new="~too_short",
        story="whether the step is representable, not the row",
    ),
)

MUTANTS = (*_of_survival, *_of_order, *_of_yield, _ANY_FLAG, *_LENS)
