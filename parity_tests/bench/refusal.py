"""What the commands of this room say when they cannot measure, or must not publish."""

import sys
from importlib.util import find_spec

# What the extra brings, by the names of the modules.
NEEDED = ("pytest", "pytest_benchmark", "rich")


def missing(*others: str) -> str:
    """What has to be installed first, in words; nothing if all is there."""
    absent = [name for name in (*NEEDED, *others) if find_spec(name) is None]
    return f"{', '.join(absent)} is not installed (pip install 'jax-spec-decode[bench]')" if absent else ""


def refuse(command: str, message: str) -> int:
    """The message on stderr, and the status of what cannot be done."""
    print(f"python -m parity_tests {command}: {message}", file=sys.stderr)
    return 2


def wrong(message: str) -> int:
    """The message, and the status of a wrong result."""
    print(f"wrong, so nothing is published: {message}")
    return 1
