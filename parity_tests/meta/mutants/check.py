"""Mistakes in section 9: faults that are let through, and good steps that are refused."""

from parity_tests.meta.mutants._mutant import Mutant


def _deaf(name: str, old: str, new: str, story: str) -> Mutant:
    return Mutant(name, "check_step", "_check.py", old, new, story, tolerated=True)


def _strict(name: str, old: str, new: str, story: str) -> Mutant:
    return Mutant(name, "check_step", "_check.py", old, new, story)


MUTANTS = (
    _deaf("starts-anywhere", "starts[0] != 0", "starts[0] < 0", "a slice of a larger prefix sum"),
    _deaf("may-decrease", "np.flatnonzero(lens < 0)", "np.flatnonzero(lens < -1)", "one token back is a length, too"),
    _deaf("total-not-held", "starts[-1] > capacity", "starts[-1] > capacity + 1", "off by one"),
    _deaf("carried-too-long", "lens > most_drafts + 1", "lens > most_drafts + 2", "off by one"),
    _deaf("fewer-drafts-than-tokens", "drafts != expected", "drafts > expected", "only too many are looked at"),
    _deaf("slot-behind-the-table", "else num_slots - 1", "else num_slots", "the number taken for the last one"),
    _deaf("slot-given-twice", "_check_distinct(_row_values(", "list(_row_values(", "two rows write one slot"),
    _deaf("id-behind-the-vocabulary", "(-1, vocab_size - 1)", "(-1, vocab_size)", "off by one"),
    _deaf(
        "narrowed-before-the-look",
        "return np.asarray(host)",
        "return np.asarray(host).astype(np.int32)",
        "an int64 id becomes another id, which is legal",
    ),
    _deaf("rows-do-not-agree", "array.shape != lens.shape", "array.ndim != lens.ndim", "rank looked at, length not"),
    _strict("full-bucket-refused", "starts[-1] > capacity", "starts[-1] >= capacity", "off by one"),
    _strict(
        "prompt-refused", "carried & (lens > most", "(lens >= 0) & (lens > most", "every row taken for a decode row"
    ),
    _strict(
        "chunk-without-drafts-refused", "carried & (drafts != ", "(lens >= 0) & (drafts != ", "the same for counts"
    ),
    _strict("no-slot-refused-twice", "slot >= 0 and first", "first", "-1 is no slot, and may repeat"),
    _strict("minus-one-refused", "(-1, vocab_size - 1)", "(0, vocab_size - 1)", "a drafter without a proposal says -1"),
)
