"""Types for the options of the command line."""

import argparse
from collections.abc import Callable


def at_least(least: int) -> Callable[[str], int]:
    """Whole numbers from `least` on.

    >>> at_least(1)("20")
    20
    """

    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"got {text!r}, expected a whole number of at least {least}")
        return int(text)

    return parse
