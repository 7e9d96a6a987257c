"""Mistakes in section 7: where a token stands, and where its keys and values go."""

from parity_tests.meta.mutants._mutant import Mutant

_COMPUTED = "take(num_computed_tokens, (rows.row,), 0) + rows.offset"
_LENGTH = "torch.where(lens > 0, num_computed_tokens + lens, 0)"
_PAGE = "(rows.row, positions // block_size)"

_POSITIONS = (
    Mutant(
        "tail-in-the-last-sequence",
        "token_positions",
        "_positions.py",
        _COMPUTED,
        "take(num_computed_tokens, (rows.row.clamp(max=len(num_computed_tokens) - 1),), 0) + rows.offset",
        "padding charged to the last row",
    ),
    Mutant(
        "position-counts-from-one",
        "token_positions",
        "_positions.py",
        _COMPUTED,
        f"{_COMPUTED} + rows.valid",
        "the length of the sequence taken for the position of its last token",
    ),
    Mutant(
        "position-in-the-batch",
        "token_positions",
        "_positions.py",
        _COMPUTED,
        "torch.where(rows.valid, take(num_computed_tokens, (rows.row,), 0) + torch.arange(len(rows.row)).int(), 0)",
        "right in the first row",
    ),
    Mutant(
        "position-that-saturates",
        "token_positions",
        "_positions.py",
        _COMPUTED,
        "(take(num_computed_tokens, (rows.row,), 0).long() + rows.offset).clamp(max=INT32_MAX).int()",
        "int32 wraps in every other implementation",
    ),
    Mutant(
        "row-before",
        "token_positions",
        "_positions.py",
        _COMPUTED,
        "torch.where(rows.valid, take(num_computed_tokens, ((rows.row - 1).clamp(min=0),), 0) + rows.offset, 0)",
        "the neighbour's count",
    ),
)

_SEQ_LENS = (
    Mutant(
        "empty-row-has-a-length",
        "seq_lens",
        "_positions.py",
        _LENGTH,
        "num_computed_tokens + lens",
        "attention runs over a sequence that is not in the batch",
    ),
    Mutant(
        "length-without-the-anchor",
        "seq_lens",
        "_positions.py",
        _LENGTH,
        "torch.where(lens > 0, num_computed_tokens + lens - 1, 0)",
        "drafts counted, the anchor not",
    ),
    Mutant(
        "length-of-the-batch",
        "seq_lens",
        "_positions.py",
        _LENGTH,
        "torch.where(lens > 0, num_computed_tokens + cu_seqlens_q[1:], 0)",
        "the prefix sum taken for the lengths",
    ),
    Mutant(
        "new-request-has-no-length",
        "seq_lens",
        "_positions.py",
        "torch.where(lens > 0, ",
        "torch.where(num_computed_tokens > 0, ",
        "0 computed tokens taken for an empty row",
    ),
    Mutant(
        "computed-moved-on",
        "seq_lens",
        "_positions.py",
        _LENGTH,
        "torch.where(lens > 0, num_computed_tokens.add_(lens), 0)",
        "an argument advanced in place, once for every time the length is asked",
    ),
)

_SLOTS = (
    Mutant(
        "last-page-again",
        "slot_mapping",
        "_positions.py",
        _PAGE,
        "(rows.row, (positions // block_size).clamp(max=block_tables.shape[1] - 1))",
        "a position behind the table overwrites what stands in its last page",
    ),
    Mutant(
        "page-minus-one",
        "slot_mapping",
        "_positions.py",
        "(block >= 0) & (block <= INT32_MAX // block_size)",
        "rows.valid & (block <= INT32_MAX // block_size)",
        "an entry of -1, a page that was not given out yet, makes negative slots that are not -1",
    ),
    Mutant(
        "slot-zero-for-padding",
        "slot_mapping",
        "_positions.py",
        "block * block_size + positions % block_size, -1)",
        "block * block_size + positions % block_size, 0)",
        "SGLang's padding; here it is the first token of page 0",
    ),
    Mutant(
        "division-towards-zero",
        "slot_mapping",
        "_positions.py",
        _PAGE,
        '(rows.row, torch.div(positions, block_size, rounding_mode="trunc"))',
        "-1 // 4 is 0 in C: a negative position finds a page",
    ),
    Mutant(
        "slot-past-32-bits",
        "slot_mapping",
        "_positions.py",
        " & (block <= INT32_MAX // block_size)",
        "",
        "a page number that is garbage wraps into somebody's cache",
    ),
    Mutant(
        "page-of-the-wrong-size",
        "slot_mapping",
        "_positions.py",
        "torch.where(has_slot, block * block_size",
        "torch.where(has_slot, block * block_tables.shape[1]",
        "columns of the table taken for tokens of a page",
    ),
    Mutant(
        "neighbours-table",
        "slot_mapping",
        "_positions.py",
        _PAGE,
        "(torch.where(rows.valid, rows.row - 1, -1), positions // block_size)",
        "a request writes into another one's cache",
    ),
    Mutant(
        "offset-in-the-step",
        "slot_mapping",
        "_positions.py",
        "positions % block_size, -1)",
        "rows.offset % block_size, -1)",
        "the place in the row taken for the place in the sequence",
    ),
    Mutant(
        "padding-has-a-slot",
        "slot_mapping",
        "_positions.py",
        _PAGE,
        "(rows.row.clamp(max=block_tables.shape[0] - 1), positions // block_size)",
        "padding, at position 0 of the last row, overwrites that row's first token",
    ),
    Mutant(
        "positions-past-32-bits",
        "slot_mapping",
        "_positions.py",
        "pages * block_size > INT32_MAX",
        "pages * block_size > 2**62",
        "the static product that must fit int32 is not looked at",
        tolerated=True,
    ),
)

MUTANTS = (*_POSITIONS, *_SEQ_LENS, *_SLOTS)
