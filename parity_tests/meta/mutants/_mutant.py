"""A copy of a package with one line of it replaced by a mistake."""

from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

# A record must be the same type for everyone, and JAX takes the registration of one just once.
_SHARED = ("_types", "_export")


class Mutant(NamedTuple):
    """A mistake: the operation that it is meant to break, the file, what stands there and what is put in its place.

    `story` is what somebody thought, or whose convention it is. A mistake that is `tolerated` does harm only in steps
    that `check_step` refuses, or in what an operation refuses; the contract says what happens there, too.
    """

    name: str
    operation: str
    file: str
    old: str
    new: str
    story: str
    package: str = "torch_ref"
    tolerated: bool = False


def module_of(mutant: Mutant) -> str:
    """The name of the broken copy."""
    return "mutant_" + mutant.name.replace("-", "_")


def write(mutant: Mutant, folder: Path) -> None:
    """Write the broken copy into `folder`, as a package with the records of the right one."""
    found = find_spec(mutant.package)
    assert found is not None
    assert found.origin is not None
    sources = {path.name: path.read_text() for path in Path(found.origin).parent.glob("*.py")}
    sources[mutant.file] = _broken(mutant, sources[mutant.file])
    target = folder / module_of(mutant)
    target.mkdir()
    for name in sources.keys() - {f"{shared}.py" for shared in _SHARED}:
        (target / name).write_text(_renamed(mutant, sources[name]))


def _broken(mutant: Mutant, text: str) -> str:
    count = text.count(mutant.old)
    if count != 1:
        raise ValueError(f"{mutant.name}: {mutant.file} has {mutant.old!r} {count} times, expected once")
    return text.replace(mutant.old, mutant.new)


def _renamed(mutant: Mutant, text: str) -> str:
    """The imports of the package made those of the copy."""
    own = text.replace(f"from {mutant.package}.", f"from {module_of(mutant)}.")
    for name in _SHARED:
        own = own.replace(f"from {module_of(mutant)}.{name} ", f"from {mutant.package}.{name} ")
    return own
