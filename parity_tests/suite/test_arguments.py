"""What an operation may do with its arguments: read them. A donating form owns the one argument that it names."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from parity_tests.kit import vectors
from parity_tests.kit.calls import invoke
from parity_tests.kit.contract import OPERATIONS, Array, Record
from parity_tests.kit.trees import Tree, leaves, map_leaves

PACKAGES = {"jax": "jax_spec", "torch": "torch_ref"}
VALID = {case.op: case for case in reversed(vectors.load()) if case.fault is None}
PLAIN = [name for name, operation in OPERATIONS.items() if not operation.donates]
DONATING = [name for name, operation in OPERATIONS.items() if operation.donates]
STATICS = [(name, static.name) for name, operation in OPERATIONS.items() for static in operation.statics]


@pytest.mark.parametrize("name", PLAIN)
def test_plain_form_gives_nothing_up(framework: str, name: str) -> None:
    given = on_device(framework, VALID[name].inputs)
    result = called(framework, name, given)
    assert not any(is_given_up(array) for _, array in leaves(given))
    # JAX may hand an argument through, as nobody can write into it; a torch tensor must be the caller's own.
    if framework == "torch":
        assert not {address(array) for _, array in leaves(given)} & {address(array) for array in flat(result)}


@pytest.mark.parametrize("name", DONATING)
def test_donating_form_writes_into_its_argument(framework: str, name: str) -> None:
    given = on_device(framework, VALID[name].inputs)
    donated = OPERATIONS[name].donates
    owned = {path: address(array) for path, array in leaves(given) if path.split(".")[0] == donated}
    result = called(framework, name, given)
    assert set(owned.values()) <= {address(array) for array in flat(result)}
    if framework == "jax":
        assert {path for path, array in leaves(given) if is_given_up(array)} == set(owned)


@pytest.mark.parametrize("name", OPERATIONS)
def test_results_are_the_tuples_of_the_contract(framework: str, name: str) -> None:
    result = called(framework, name, on_device(framework, VALID[name].inputs))
    assert_is(result, OPERATIONS[name].result, import_module(PACKAGES[framework]))


@pytest.mark.parametrize(("name", "static"), STATICS)
def test_numpy_integer_is_no_static(framework: str, name: str, static: str) -> None:
    # A value that no other test has: to a cache it would equal the Python int.
    odd = VALID[name].static | {static: np.int64(1013)}
    with pytest.raises(ValueError, match=f"`{static}`"):
        called(framework, name, on_device(framework, VALID[name].inputs), odd)


def on_device(framework: str, inputs: Tree) -> Tree:
    """Arrays of the framework that share nothing with the NumPy ones."""
    module = import_module(framework if framework == "torch" else "jax.numpy")
    # JAX may leave an array where NumPy has it, and could then not give it up; `copy` runs on the device.
    make = module.from_numpy if framework == "torch" else module.copy
    return map_leaves(lambda _, leaf: make(leaf.copy()), inputs)


def called(framework: str, name: str, given: Tree, static: dict[str, Any] | None = None) -> Any:
    package = import_module(PACKAGES[framework])
    return invoke(getattr(package, name), OPERATIONS[name], given, static or VALID[name].static, package)


def flat(result: Any) -> Iterator[Any]:
    if hasattr(result, "_fields"):
        for field in result:
            yield from flat(field)
    else:
        yield result


def address(array: Any) -> int:
    return array.untyped_storage().data_ptr() if hasattr(array, "untyped_storage") else array.unsafe_buffer_pointer()


def is_given_up(array: Any) -> bool:
    return hasattr(array, "is_deleted") and array.is_deleted()


def assert_is(result: Any, expected: Array | Record | None, package: Any) -> None:
    if isinstance(expected, Record):
        assert type(result) is getattr(package, expected.type)
        assert result._fields == tuple(field.name for field in expected.fields)
        for value, field in zip(result, expected.fields, strict=True):
            assert_is(value, field, package)
    else:
        assert not isinstance(result, tuple)
