"""Small calls of `schedule_verify_lens` in few shapes: each is a program that has to be compiled."""


def at_most(tokens: int) -> list[float]:
    """A table that is flat up to a number of tokens, and then too slow for anything."""
    return [1.0] * (tokens + 1) + [0.01]


def filled(confidence: list[list[float]], sps_table: list[float], live: list[bool]) -> tuple:
    """The arguments of a call: 1, 2 or 4 rows, 3 drafts and 8 entries at least.

    What is filled in changes nothing: rows that are not live, drafts of no worth, the table's last entry once more.
    """
    rows = next(size for size in (1, 2, 4) if size >= len(confidence))
    wide = [row + [0.0] * (3 - len(row)) for row in confidence]
    spare, rest = rows - len(wide), 8 - len(sps_table)
    return wide + [[0.0] * len(wide[0])] * spare, sps_table + sps_table[-1:] * rest, live + [False] * spare
