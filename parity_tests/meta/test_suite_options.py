"""The suite on an implementation from elsewhere: what is asked, what is told, and what `--xfails` may hide."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.vectors import OPERATION_NAMES
from parity_tests.meta.suite_run import ROOT, run_pytest

# Right where no length is negative, and it refuses nothing. No framework, so that a run takes a second.
KERNELS = """
import numpy as np

def cu_seqlens(inputs, static):
    return {"out": np.append(np.int32(0), np.cumsum(inputs["query_lens"], dtype=np.int32))}

def all_of_them(operation, inputs, static):
    if operation != "cu_seqlens":
        raise NotImplementedError(f"there is no kernel for {operation}")
    return cu_seqlens(inputs | {"query_lens": np.maximum(inputs["query_lens"], 0)}, static)
"""
SPEC = "cu_seqlens=numpy:kernels:cu_seqlens"
# What the vectors find; the search and the wild values find it, too.
NEGATIVE = [
    f"test_vectors.py::test_vector[{SPEC}-cu-{name}]" for name in ("negative-filler", "negative-middle", "int-min")
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernels.py").write_text(KERNELS)
    return tmp_path


def test_one_operation_is_asked_of_one_function(folder: Path) -> None:
    status, text = run_pytest(folder, "--impl", SPEC, "-m", "not faults", "--junitxml", "report.xml")
    assert status == 1
    names = [case.attrib["name"] for case in ElementTree.parse(folder / "report.xml").iter("testcase")]
    assert names
    assert all("cu_seqlens" in name for name in names)
    assert [f"FAILED {name}" for name in NEGATIVE if f"FAILED {name}" not in text.replace("\n", "")] == []
    assert "skipped" not in text
    assert '{"id":"cu-negative-middle","op":"cu_seqlens"' in text


def test_adapter_skips_what_it_does_not_implement(folder: Path) -> None:
    status, text = run_pytest(
        folder, "--impl", "numpy:kernels:all_of_them", "-m", "not faults", "-rs", "-k", "not wild"
    )
    assert status == 0
    for name in set(OPERATION_NAMES) - {"cu_seqlens"}:
        assert f"there is no kernel for {name}" in text


def test_faults_are_asked_for_and_the_way_out_is_told(folder: Path) -> None:
    status, text = run_pytest(folder, "--impl", SPEC, "-m", "faults")
    assert status == 1
    assert "error: expected ValueError, got a result" in text
    assert "runs with `-m 'not faults'`" in text


def test_listed_failures_are_expected(folder: Path) -> None:
    (folder / "list.txt").write_text("# known\n\n" + "".join(f"{name}  # why\n" for name in NEGATIVE))
    status, text = run_pytest(folder, "--impl", SPEC, "--xfails", "list.txt", "-k", "test_vector", "-m", "not faults")
    assert status == 0
    assert "3 xfailed" in text


def test_listed_test_that_passes_is_a_failure(folder: Path) -> None:
    (folder / "list.txt").write_text(f"test_vectors.py::test_vector[{SPEC}-cu-running]\n")
    status, text = run_pytest(folder, "--impl", SPEC, "--xfails", "list.txt", "-k", "running")
    assert status == 1
    assert "[XPASS(strict)] listed in list.txt:1" in text


def test_listed_id_without_a_test_is_an_error(folder: Path) -> None:
    # Another test would be hidden by mistake if the start of an id were enough.
    (folder / "list.txt").write_text(f"# known\n{NEGATIVE[0][:-1]}\n")
    status, text = run_pytest(folder, "--impl", SPEC, "--xfails", "list.txt")
    assert status == 4
    assert f"list.txt:2: no test has the id {NEGATIVE[0][:-1]}" in text


def test_list_that_is_not_there_is_an_error(folder: Path) -> None:
    status, text = run_pytest(folder, "--impl", SPEC, "--xfails", "no.txt")
    assert status == 4
    assert "--xfails no.txt: No such file" in text


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("cu_seqlens=numpy:kernel:cu_seqlens", "cannot import kernel"),
        ("cu_seqlens=numpy:kernels:cu_seqlen", "perhaps 'cu_seqlens'"),
        ("pytorch", "unknown implementation"),
    ],
)
def test_bad_spec_is_a_usage_error(folder: Path, spec: str, told: str) -> None:
    status, text = run_pytest(folder, "--impl", spec)
    assert status == 4
    assert f"ERROR: --impl {spec}: " in text
    assert told in text


def test_missing_operations_fail_once_each(folder: Path) -> None:
    (folder / "theirs.py").write_text("from jax_spec import cu_seqlens\n")
    status, text = run_pytest(folder, "--impl", "jax:theirs")
    assert status == 1
    failed = [line for line in text.splitlines() if line.startswith("FAILED")]
    assert len(failed) == len(OPERATION_NAMES) - 1
    assert all("test_offer.py::test_operation_is_there[jax:theirs-" in line for line in failed)
    assert f"jax:theirs has no function {next(reversed(OPERATIONS))}" in text


PROJECT = """
def pytest_addoption(parser):
    parser.addoption("--impl")
    parser.addoption("--xfails")

def pytest_collection_modifyitems(items):
    import sys
    ours = {name for name in sys.modules if name.startswith(("parity_tests", "jax_spec", "torch_ref"))}
    assert ours == {"parity_tests", "parity_tests.kit", "parity_tests.kit.plugin"}
"""


def test_plugin_is_inert_in_other_projects(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(PROJECT)
    (tmp_path / "test_own.py").write_text(
        "def test_own(pytestconfig):\n    assert pytestconfig.getoption('impl') == 'x'\n"
    )
    status, text = run_pytest(tmp_path, "--impl", "x", suite=())
    assert status == 0, text
    assert "1 passed" in text


def test_plugin_imports_nothing_but_itself() -> None:
    code = "import pytest, sys; old = set(sys.modules); import parity_tests.kit.plugin; print(*set(sys.modules) - old)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"parity_tests", "parity_tests.kit", "parity_tests.kit.plugin"}


def test_tests_of_others_in_one_session_are_left_alone(folder: Path) -> None:
    (folder / "test_own.py").write_text("import pytest\n@pytest.mark.full\ndef test_own(): ...\n")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = full\n")
    status, text = run_pytest(folder, "--impl", SPEC, "test_own.py", "-k", "own or running")
    assert status == 0, text
    assert "2 passed" in text
