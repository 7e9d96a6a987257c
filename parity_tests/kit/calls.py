"""One call of one operation, whatever the framework: arguments built, result read back, arguments looked at again."""

from collections.abc import Callable
from typing import Any

import numpy as np

from parity_tests.kit.cases import Case, laid_out
from parity_tests.kit.compare import Outcome, equal
from parity_tests.kit.contract import CHECK_STEP, OPERATIONS, Array, Operation, Record, tree_of
from parity_tests.kit.trees import Tree, leaves, map_leaves


class ArgumentChanged(Exception):  # noqa: N818 - it reads as what happened
    """An operation wrote into an argument that it does not own."""


def operation_of(name: str) -> Operation:
    """The operation of that name, `check_step` included."""
    return CHECK_STEP if name == CHECK_STEP.name else OPERATIONS[name]


def private_inputs(case: Case) -> Tree:
    """Copies that belong to one call, in the layouts that the case asks for."""
    return map_leaves(
        lambda path, leaf: laid_out(leaf, case.layouts.get(path)) if isinstance(leaf, np.ndarray) else leaf, case.inputs
    )


def invoke(function: Callable, operation: Operation, inputs: Tree, static: Tree, types: Any) -> Any:
    """Call `function` as the contract says: arrays positional, records as the NamedTuples of the module `types`."""
    values = {
        argument.name: build(argument, inputs[argument.name], types)
        for argument in operation.arguments
        if argument.name in inputs
    }
    if operation.name != CHECK_STEP.name:
        return function(*values.values(), **static)
    first = operation.arguments[0].name
    return function(values.pop(first), **values, **static)


def build(argument: Array | Record, given: Any, types: Any) -> Any:
    """The argument itself: a record's dict of fields becomes the NamedTuple, anything else goes as it is."""
    if isinstance(argument, Array) or not isinstance(given, dict):
        return given
    return getattr(types, argument.type)(*(build(field, given[field.name], types) for field in argument.fields))


def as_tree(result: Any, to_numpy: Callable[[Any], Any]) -> Tree:
    """A result as nested dicts of NumPy arrays; a single array is `out`, no result is empty."""
    if result is None:
        return {}
    tree = _fields(result, to_numpy)
    return tree if isinstance(tree, dict) else {"out": tree}


def _fields(value: Any, to_numpy: Callable[[Any], Any]) -> Any:
    if not hasattr(value, "_fields"):
        return to_numpy(value)
    return {name: _fields(field, to_numpy) for name, field in zip(value._fields, value, strict=True)}


def in_order(operation: Operation, result: Tree) -> Tree:
    """`result` with its fields in the contract's order, which a dict from elsewhere need not have."""
    model = tree_of(operation.result, lambda array: array.name) if operation.result else {}
    return _ordered(model if isinstance(model, dict) else {"out": model}, result)


def _ordered(model: Any, given: Any) -> Any:
    if not isinstance(model, dict) or not isinstance(given, dict):
        return given
    known = {name: _ordered(field, given[name]) for name, field in model.items() if name in given}
    return known | {name: field for name, field in given.items() if name not in known}


def checked(call: Callable[[Tree], Tree], operation: Operation, case: Case) -> Outcome:
    """The outcome of a call: its result, what it raised, or that it changed an argument."""
    inputs = private_inputs(case)
    try:
        outcome = call(inputs)
    except Exception as error:
        return error
    after = dict(leaves(inputs))
    for path, before in leaves(case.inputs):
        owned = operation.donates and path.split(".")[0] == operation.donates
        if isinstance(before, np.ndarray) and not owned and not equal(before, after[path]):
            return ArgumentChanged(f"`{path}` was {before.tolist()}, became {after[path].tolist()}")
    return outcome
