"""What the commands share: types of their options, and how they say that they cannot begin."""

import argparse
import sys
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


def refuse(message: str, command: str = "") -> int:
    """The message on stderr, and the status of what cannot be done."""
    print(f"{f'python -m parity_tests {command}'.rstrip()}: {message}", file=sys.stderr)
    return 2
