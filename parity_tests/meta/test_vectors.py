"""The golden vectors are what the named cases give, and the tool sees it when they are not."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from parity_tests.kit import vectors
from parity_tests.kit.contract import CHECK_STEP, OPERATIONS

LARGEST = 200_000
Entry = dict


def test_files_are_in_order() -> None:
    assert vectors.problems() == []


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for path in vectors.FOLDER.glob("*.json"):
        shutil.copy(path, tmp_path)
    return tmp_path


def test_one_changed_byte_is_seen(copy: Path) -> None:
    path = copy / "token_rows.json"
    path.write_text(path.read_text().replace("[0,1,5,7]", "[0,1,5,8]", 1))
    (problem,) = vectors.problems(copy)
    assert problem.startswith("token_rows.json: differs")


def test_missing_file_is_seen(copy: Path) -> None:
    (copy / "seq_lens.json").unlink()
    (problem,) = vectors.problems(copy)
    assert problem.startswith("seq_lens.json")


def unknown_key(entry: Entry) -> None:
    entry["note"] = "?"


def no_comment(entry: Entry) -> None:
    del entry["comment"]


def both_ends(entry: Entry) -> None:
    entry["error"] = "ValueError"


def another_dtype(entry: Entry) -> None:
    entry["inputs"]["query_lens"]["dtype"] = "int8"


def unknown_operation(entry: Entry) -> None:
    entry["op"] = "cu_lens"


def no_data(entry: Entry) -> None:
    del entry["inputs"]["query_lens"]["data"]


@pytest.mark.parametrize("breach", [unknown_key, no_comment, both_ends, another_dtype, unknown_operation, no_data])
def test_breach_of_the_schema_is_seen(copy: Path, monkeypatch: pytest.MonkeyPatch, breach: Callable) -> None:
    data = json.loads((copy / "cu_seqlens.json").read_text())
    breach(data["cases"][0])
    (copy / "cu_seqlens.json").write_text(json.dumps(data))
    # The bytes are made to agree, so that only the schema can object.
    monkeypatch.setattr(vectors, "rendered", lambda: {"cu_seqlens": json.dumps(data)})
    assert vectors.problems(copy)


def test_wrong_value_by_hand_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    named = list(vectors._named())
    right = next(case for case in named if case.id == "cu-running")
    wrong = right._replace(inputs={"query_lens": right.inputs["query_lens"] + 1})
    monkeypatch.setattr(vectors, "_named", lambda: iter([wrong]))
    with pytest.raises(ValueError, match="cu-running"):
        vectors.rendered()


def test_ids_are_unique_and_files_small() -> None:
    counts = Counter(case.id for case in vectors.load())
    assert [name for name, count in counts.items() if count > 1] == []
    assert all(path.stat().st_size < LARGEST for path in vectors.FOLDER.glob("*.json"))


def test_every_operation_has_values_and_errors() -> None:
    for name in (*OPERATIONS, CHECK_STEP.name):
        cases = [case for case in vectors.load() if case.op == name]
        assert any(case.fault is None for case in cases), name
        assert any(case.fault is not None for case in cases), name


def test_schema_knows_every_operation() -> None:
    schema = json.loads((vectors.FOLDER / "schema.json").read_text())
    assert schema["$defs"]["case"]["properties"]["op"]["enum"] == [*OPERATIONS, CHECK_STEP.name]
