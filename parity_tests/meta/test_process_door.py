"""A program is asked in the published form, its answers are read strictly, and its failures are told."""

import json
import shlex
from contextlib import closing
from pathlib import Path

import pytest

from parity_tests.kit import doors, vectors
from parity_tests.kit.cases import dump_case, dump_request
from parity_tests.kit.compare import Outcome, compare
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.process_subject import PATIENCE, ProgramFailed, ProgramLate, conversation, read
from parity_tests.kit.search import search_cases
from parity_tests.kit.trial import differences
from parity_tests.meta.programs import program, validator

CASES = [case for case in vectors.load() if case.op == "cu_seqlens" and case.fault is None][:4]

RIGHT = """
lens = request["inputs"]["query_lens"]["data"]
starts = [0]
for length in lens:
    starts.append((starts[-1] + max(length, 0) + 2**31) % 2**32 - 2**31)
return json.dumps({"expected": {"out": {"dtype": "int32", "shape": [len(starts)], "data": starts}}})
"""


def asked(command: list[str], longest: float = 20.0, cases: list = CASES) -> list[Outcome]:
    with closing(conversation(command, longest)) as talk:
        next(talk)
        return [talk.send(case) for case in cases]


def test_right_program_passes(tmp_path: Path) -> None:
    subject = doors.subject(f"cu_seqlens=proc:{shlex.join(program(tmp_path, RIGHT))}")
    assert subject.outside
    assert differences(subject, [*CASES, *search_cases(OPERATIONS["cu_seqlens"], 50, 3)]) == []


def test_one_process_answers_many(tmp_path: Path) -> None:
    outcomes = asked(program(tmp_path, 'return json.dumps({"unsupported": str(os.getpid())})'))
    assert len({str(outcome) for outcome in outcomes}) == 1
    assert all(isinstance(outcome, NotImplementedError) for outcome in outcomes)


def test_request_is_the_vector_without_its_answer() -> None:
    is_request = validator("request.schema.json").is_valid
    for case in vectors.load():
        request, vector = json.loads(dump_request(case)), json.loads(dump_case(case))
        assert is_request(request), case.id
        assert [request[key] for key in ("id", "op", "static")] == [vector[key] for key in ("id", "op", "static")]
        assert "layout" not in dump_request(case)


ANSWERS = [
    {"expected": {}},
    {"expected": {"out": {"dtype": "int32", "shape": [], "data": [7]}}},
    {"expected": {"state": {"row": {"dtype": "bool", "shape": [2, 1], "data": [True, False]}}}},
    {"expected": {"out": {"dtype": "float32", "shape": [3], "data": [0.5, "nan", 1]}}},
    {"error": "ValueError", "message": "`capacity`: got -8"},
    {"unsupported": "no such kernel"},
]
NO_ANSWERS = [
    {},
    [],
    {"expected": []},
    {"expected": {"out": [1, 2]}},
    {"expected": {}, "unsupported": "?"},
    {"error": "ValueError"},
    {"unsupported": 3},
    {"expected": {"out": {"dtype": "int32", "shape": [2]}}},
    {"expected": {"out": {"dtype": "uint8", "shape": [1], "data": [1]}}},
]
# What the schema cannot see, as it knows no dtype from another.
WRONG_ENTRIES = [
    {"expected": {"out": {"dtype": "int32", "shape": [1], "data": [1.5]}}},
    {"expected": {"out": {"dtype": "int32", "shape": [1], "data": [True]}}},
    {"expected": {"out": {"dtype": "bool", "shape": [1], "data": [1]}}},
    {"expected": {"out": {"dtype": "int32", "shape": [1], "data": [2**31]}}},
    {"expected": {"out": {"dtype": "int32", "shape": [3], "data": [1]}}},
    {"expected": {"out": {"dtype": "int32", "shape": [-1], "data": [1]}}},
]


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_answer_is_read_and_fits_the_schema(answer: dict) -> None:
    assert validator("answer.schema.json").is_valid(answer)
    outcome = read(json.dumps(answer).encode())
    assert isinstance(outcome, dict) == ("expected" in answer)


@pytest.mark.parametrize("answer", NO_ANSWERS, ids=str)
def test_what_is_no_answer_is_refused_and_breaks_the_schema(answer: dict) -> None:
    assert not validator("answer.schema.json").is_valid(answer)
    with pytest.raises(ProgramFailed, match="is no answer"):
        read(json.dumps(answer).encode())


@pytest.mark.parametrize("answer", WRONG_ENTRIES, ids=str)
def test_entries_are_of_their_dtype(answer: dict) -> None:
    with pytest.raises(ProgramFailed, match="is no answer"):
        read(json.dumps(answer).encode())


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("sys.exit('out of memory')", ["ended with status 1", "stderr: out of memory"]),
        ("os.kill(os.getpid(), 11)", ["died of SIGSEGV"]),
        ("print('half', end='', flush=True); os._exit(3)", ["ended with status 3", "stdout: half"]),
        ("return 'hello'", ["no answer", "hello"]),
        ("os.close(1); time.sleep(9)", ["closed its stdout"]),
    ],
)
def test_failure_is_told_and_the_next_case_is_asked(tmp_path: Path, body: str, told: list[str]) -> None:
    first = f"if request['id'] == {CASES[0].id!r}:\n    {body}\n"
    failed, *others = asked(program(tmp_path, first + RIGHT))
    assert isinstance(failed, ProgramFailed)
    assert [part for part in told if part not in str(failed)] == []
    assert [compare(case, outcome) for case, outcome in zip(CASES[1:], others, strict=True)] == [None] * 3


def test_difference_names_the_case_and_what_came_back(tmp_path: Path) -> None:
    command = shlex.join(program(tmp_path, "return '{}'"))
    (text,) = differences(doors.subject(f"proc:{command}"), CASES[:1])
    assert text.startswith(f"cu_seqlens {CASES[0].id}: error: expected a result, got ProgramFailed: ")
    assert dump_case(CASES[0]) in text


def test_hanging_program_is_given_up(tmp_path: Path) -> None:
    outcomes = asked(program(tmp_path, "time.sleep(60)"), 0.3, CASES)
    assert len(outcomes) > PATIENCE
    assert all(isinstance(outcome, ProgramLate) for outcome in outcomes)
    assert "flush" in str(outcomes[0])
    assert "not asked" in str(outcomes[PATIENCE])


def test_late_in_between_is_forgiven(tmp_path: Path) -> None:
    body = f"if request['id'] == {CASES[0].id!r}:\n    time.sleep(60)\n" + RIGHT
    late, right, again, last = asked(program(tmp_path, body), 1.0, [CASES[0], CASES[1], CASES[0], CASES[1]])
    assert isinstance(late, ProgramLate)
    assert isinstance(again, ProgramLate)
    assert [compare(CASES[1], outcome) for outcome in (right, last)] == [None, None]


def test_what_is_no_program_fails_when_it_is_started(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("no program")
    path.chmod(0o755)
    (outcome,) = asked([str(path)], cases=CASES[:1])
    assert "cannot start" in str(outcome)
