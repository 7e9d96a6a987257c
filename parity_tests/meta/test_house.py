"""The rules of the house: who may import whom, mirrored names, small rooms."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import jax_spec
import torch_ref
from parity_tests.kit.contract import CHECK_STEP, OPERATIONS

ROOT = Path(__file__).parents[2]
PACKAGES = ("jax_spec", "torch_ref", "parity_tests")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
PUBLIC = [*OPERATIONS, CHECK_STEP.name, "bucket_ladder", "pick_bucket", "throughput_table"]

# What has no meaning in the other framework.
ONLY_IN = {
    jax_spec: {
        *("export_step", "ExportedStep"),
        *("precompile", "step_shapes", "StepShapes"),
        "shard_rows",
    }
}

LONGEST_FILE = 300
LONGEST_BODY = 30


def loaded_after(code: str) -> set[str]:
    """Which frameworks a fresh interpreter has loaded after `code`, and whether a JAX backend has started."""
    probe = (
        "import sys\n"
        "found = {name for name in ('jax', 'torch', 'jax_spec', 'torch_ref') if name in sys.modules}\n"
        "if 'jax' in found:\n"
        "    from jax._src import xla_bridge\n"
        "    found |= {'backend'} if xla_bridge.backends_are_initialized() else set()\n"
        "print(*found)"
    )
    done = subprocess.run([sys.executable, "-c", f"{code}\n{probe}"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_jax_spec_needs_neither_torch_nor_a_backend():
    assert loaded_after("import jax_spec") == {"jax", "jax_spec"}


def test_torch_ref_does_not_need_jax():
    assert loaded_after("import torch_ref, torch_ref.host_sync") == {"torch", "torch_ref"}


def test_the_kit_imports_neither_framework():
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "parity_tests").rglob("*.py")
        if not {"meta", "suite", "examples"} & set(path.parts) and path.name != "__main__.py"
    ]
    assert loaded_after("\n".join(f"import {name.removesuffix('.__init__')}" for name in names)) == set()


def test_the_probe_sees_what_is_loaded():
    assert loaded_after("import jax_spec, torch\njax_spec.jnp = __import__('jax').numpy.zeros(1)") == {
        "jax",
        "jax_spec",
        "torch",
        "backend",
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_do_not_import_each_other(package):
    forbidden = {"jax_spec": {"torch", "torch_ref", "parity_tests"}, "torch_ref": {"jax", "jax_spec", "parity_tests"}}
    for path in (ROOT / package).rglob("*.py"):
        assert not imported(ast.parse(path.read_text())) & forbidden.get(package, set()), path


def imported(tree: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names


def test_an_import_inside_a_function_is_seen():
    assert imported(ast.parse("def f():\n    from torch.nn import functional")) == {"torch"}


@pytest.mark.parametrize("name", PUBLIC)
def test_names_and_arguments_are_mirrored(name):
    ours, theirs = (inspect.signature(getattr(package, name)).parameters for package in (jax_spec, torch_ref))
    assert list(ours) == list(theirs)
    assert [p.kind for p in ours.values()] == [p.kind for p in theirs.values()]
    if name in OPERATIONS:
        operation = OPERATIONS[name]
        assert list(ours) == [x.name for x in (*operation.arguments, *operation.statics)]


def test_both_packages_export_the_contract_and_its_records():
    records = {"TokenRows", "VerifyIndices", "Acceptance", "StepState", "StepInputs", "StepResult", "BoundedLens"}
    for package in (jax_spec, torch_ref):
        exported = {
            name for name in vars(package) if not name.startswith("_") and not inspect.ismodule(vars(package)[name])
        }
        assert exported == {*PUBLIC, *records, *ONLY_IN.get(package, set())}
        for record in records:
            assert getattr(jax_spec, record)._fields == getattr(torch_ref, record)._fields


@pytest.mark.parametrize("package", [jax_spec, torch_ref], ids=lambda package: package.__name__)
def test_public_functions_have_an_example(package):
    assert [name for name in PUBLIC if ">>> " not in getattr(package, name).__doc__] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_rooms_are_small(path):
    text = path.read_text()
    assert len(text.splitlines()) <= LONGEST_FILE
    tree = ast.parse(text)
    assert "__future__" not in imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            statements = node.body[1:] if ast.get_docstring(node) else node.body
            lines = (statements[-1].end_lineno or 0) - statements[0].lineno + 1 if statements else 0
            assert lines <= LONGEST_BODY, f"{node.name} has {lines} lines"


@pytest.mark.parametrize("package", ["jax_spec", "torch_ref"])
def test_init_holds_explicit_reexports_only(package):
    body = ast.parse((ROOT / package / "__init__.py").read_text()).body[1:]
    for node in body:
        is_version = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__"
        assert is_version or (isinstance(node, ast.ImportFrom) and all(a.name == a.asname for a in node.names))
