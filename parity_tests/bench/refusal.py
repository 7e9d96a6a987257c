"""What the commands of this room say when they cannot measure, or must not publish."""

from importlib.util import find_spec

# What the extra brings, by the names of the modules.
NEEDED = ("pytest", "pytest_benchmark", "rich")


def missing(*others: str) -> str:
    """What has to be installed first, in words; nothing if all is there."""
    absent = [name for name in (*NEEDED, *others) if find_spec(name) is None]
    return f"{', '.join(absent)} is not installed (pip install 'jax-spec-decode[bench]')" if absent else ""


def wrong(message: str) -> int:
    """The message, and the status of a wrong result."""
    print(f"wrong, so nothing is published: {message}")
    return 1
