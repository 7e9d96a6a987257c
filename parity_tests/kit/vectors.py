"""The golden vectors: written from the named cases with the oracle's values, read back, held to their schema."""

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from parity_tests.kit.cases import Case, dump_cases, load_cases
from parity_tests.kit.compare import compare, describe
from parity_tests.kit.contract import CHECK_STEP, OPERATIONS
from parity_tests.kit.oracle_subject import answers, consult

OPERATION_NAMES = (*OPERATIONS, CHECK_STEP.name)
FOLDER = Path(str(files("parity_tests.vectors")))


def load() -> list[Case]:
    """Every golden vector, as the files have them."""
    return [case for name in OPERATION_NAMES for case in load_cases(_path(FOLDER, name).read_text())]


def rendered() -> dict[str, str]:
    """The text that the file of each operation must have."""
    cases = [_completed(case) for case in _named()]
    return {name: dump_cases([case for case in cases if case.op == name]) for name in OPERATION_NAMES}


def write(folder: Path = FOLDER) -> None:
    """Write every file anew."""
    for name, text in rendered().items():
        _path(folder, name).write_text(text)


def problems(folder: Path = FOLDER) -> list[str]:
    """What is wrong with the files: bytes that are not those of the named cases, or a breach of the schema."""
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(json.loads((folder / "schema.json").read_text()))
    found = []
    for name, text in rendered().items():
        path = _path(folder, name)
        if not path.exists() or path.read_text() != text:
            found.append(f"{path.name}: differs from the named cases; run `python -m parity_tests vectors`")
        else:
            found += [
                f"{path.name}: {error.json_path}: {error.message}" for error in validator.iter_errors(json.loads(text))
            ]
    return found


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def _named() -> Iterator[Case]:
    from parity_tests.vectors.named import MODULES

    for module in MODULES:
        for case in module.CASES:
            yield case
            donated = f"{case.op}_donated"
            if donated in OPERATIONS and not case.id.startswith("error"):
                yield case._replace(id=f"{case.id}-donated", op=donated)


def _completed(case: Case) -> Case:
    """The case with the oracle's values where none were derived by hand; where there are, both must be the same."""
    if not answers(case):
        return case
    outcome = consult(case)
    if case.expected is None and case.fault is None and isinstance(outcome, dict):
        return case._replace(expected=outcome)
    difference = compare(case, outcome)
    if difference is not None:
        raise ValueError(f"the oracle disagrees with a named case: {describe(case, difference)}")
    return case
