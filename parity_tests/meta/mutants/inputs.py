"""Mistakes in section 2: what every operation refuses, and what none may do whatever the values are."""

from parity_tests.meta.mutants._mutant import Mutant

_IS_STATIC = "type(value) is not int or value < least"

MUTANTS = (
    Mutant(
        "any-dtype",
        "assemble_input_ids",
        "_arguments.py",
        "isinstance(argument.value, torch.Tensor) and argument.value.dtype == argument.dtype",
        "isinstance(argument.value, torch.Tensor)",
        "int64 ids are narrowed somewhere else, without a word",
        tolerated=True,
    ),
    Mutant(
        "any-shape",
        "overlay_input_ids",
        "_arguments.py",
        "sizes.get(term, size) == size",
        "sizes.get(term, size) >= 0",
        "anchors of another batch than the drafts broadcast or read past the end",
        tolerated=True,
    ),
    Mutant(
        "static-of-any-type",
        "verify_indices",
        "_arguments.py",
        _IS_STATIC,
        "value < least",
        "True is an int, and a NumPy integer is a new trace and an int64 leak",
        tolerated=True,
    ),
    Mutant(
        "negative-static",
        "token_positions",
        "_arguments.py",
        _IS_STATIC,
        "type(value) is not int",
        "whatever arange says to a negative size, it does not name the argument",
        tolerated=True,
    ),
    Mutant(
        "tables-are-never-empty",
        "overlay_input_ids",
        "_indexing.py",
        "if table.numel() == 0:",
        "if table.numel() < 0:",
        "a state without slots has no row to clamp an index to",
    ),
    Mutant(
        "gather-outside-the-table",
        "slot_mapping",
        "_indexing.py",
        "torch.where(inside, table[clamped], fill)",
        "torch.where(inside, table[indices], fill)",
        "masked afterwards, read all the same: on a GPU this kills the context",
    ),
    Mutant(
        "range-without-lower-end",
        "overlay_input_ids",
        "_indexing.py",
        "(index >= 0) & (index < size)",
        "index < size",
        "-1 is less than the size",
    ),
    Mutant(
        "range-one-too-long",
        "overlay_rows",
        "_indexing.py",
        "(index >= 0) & (index < size)",
        "(index >= 0) & (index <= size)",
        "the size taken for the last index",
        tolerated=True,
    ),
    Mutant(
        "scatter-that-clamps",
        "commit_step",
        "_indexing.py",
        "torch.where(in_range(slots, size), slots, size)",
        "slots.clamp(0, size)",
        "a row without a slot writes slot 0",
    ),
)
