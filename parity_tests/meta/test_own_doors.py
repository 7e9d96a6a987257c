"""Our own functions come in by every door and pass: all vectors, errors included."""

import shlex
import sys
from pathlib import Path

import pytest

from parity_tests.kit import doors, vectors
from parity_tests.kit.cases import Case
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.search import search_cases
from parity_tests.kit.trial import differences
from parity_tests.meta.suite_run import ROOT

OURS = """
import torch
import torch_ref
from parity_tests.kit.calls import as_tree, invoke, operation_of
from parity_tests.kit.trees import map_leaves

def adapter(name, inputs, static):
    tensors = map_leaves(lambda _, leaf: torch.from_numpy(leaf) if hasattr(leaf, "dtype") else leaf, inputs)
    result = invoke(getattr(torch_ref, name), operation_of(name), tensors, static, torch_ref)
    return as_tree(result, torch.Tensor.numpy)
"""
PROGRAM = f"""
import json, sys
import numpy as np
sys.path[:0] = [{str(ROOT)!r}, sys.argv[1]]
from ours_in_torch import adapter
from parity_tests.kit.trees import map_leaves

def arrays(value):
    if not isinstance(value, dict):
        return value
    if "data" in value:
        return np.array(value["data"], value["dtype"]).reshape(value["shape"])
    return {{name: arrays(field) for name, field in value.items()}}

def written(_, array):
    return {{"dtype": array.dtype.name, "shape": array.shape, "data": array.ravel().tolist()}}

for line in sys.stdin:
    request = json.loads(line)
    try:
        result = adapter(request["op"], arrays(request["inputs"]), request["static"])
        answer = {{"expected": map_leaves(written, result)}}
    except Exception as error:
        answer = {{"error": type(error).__name__, "message": str(error)}}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    searched = [case for operation in OPERATIONS.values() for case in search_cases(operation, 13, 4)]
    return [*vectors.load(), *searched]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ours_in_torch.py").write_text(OURS)
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("spec", ["torch:torch_ref", "torch@cpu:torch_ref", "numpy:ours_in_torch:adapter", "proc:"])
@pytest.mark.usefixtures("folder")
def test_torch_passes(spec: str, folder: Path, cases: list[Case]) -> None:
    command = shlex.join([sys.executable, str(folder / "program.py"), str(folder)])
    subject = doors.subject(f"proc:{command}" if spec == "proc:" else spec)
    assert subject.outside
    assert [case.op for case in cases if not subject.takes(case)] == []
    assert differences(subject, cases) == []


def test_jax_passes(cases: list[Case]) -> None:
    # Each signature is a program to compile: one for each operation, and the faults, which compile nothing.
    first = {case.op: case for case in reversed(cases) if case.fault is None}
    subject = doors.subject("jax:jax_spec")
    assert subject.lacks == ()
    assert differences(subject, [*first.values(), *(case for case in cases if case.fault)]) == []
