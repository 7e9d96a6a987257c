"""What the letters of the contract are in one call, and the shapes that the result must then have."""

from typing import Any

import numpy as np

from parity_tests.kit.cases import Promise
from parity_tests.kit.contract import Array, Operation, shape_of, tree_of
from parity_tests.kit.trees import Tree, leaves


def arguments_by_path(operation: Operation) -> dict[str, Array]:
    """Every array that the operation takes, under its dotted path."""
    named = {
        argument.name: argument if isinstance(argument, Array) else tree_of(argument, lambda field: field)
        for argument in operation.arguments
    }
    return dict(leaves(named))


def dims_of(operation: Operation, inputs: Tree, static: dict[str, Any]) -> dict[str, int]:
    """The value of each letter; `K` is 0 where only `B = 0` rows could tell it.

    >>> from parity_tests.kit.contract import OPERATIONS
    >>> dims_of(OPERATIONS["token_rows"], {"cu_seqlens_q": np.array([0, 1, 5, 7], np.int32)}, {"capacity": 8})
    {'T': 8, 'B': 3}
    """
    given = dict(leaves(inputs))
    dims = {entry.letter: static[entry.name] for entry in operation.statics if entry.letter}
    products = {}
    for path, array in arguments_by_path(operation).items():
        for term, size in zip(array.shape.split(), np.shape(given[path]), strict=False):
            if term == "B*K":
                products["K"] = size
            elif term == "B+1":
                dims["B"] = size - 1
            elif term in ("B", "S", "K", "T", "P", "N"):
                dims[term] = size
    if "K" not in dims and "K" in products:
        dims["K"] = products["K"] // dims["B"] if dims["B"] else 0
    return dims


def promised(operation: Operation, inputs: Tree, static: dict[str, Any]) -> Tree:
    """The result with dtypes and shapes only."""
    dims = dims_of(operation, inputs, static)

    def promise(array: Array) -> Promise:
        if array.shape == "...":
            return Promise(array.dtype, inputs[operation.arguments[0].name].shape)
        # Acceptance reads K from packed arrays, which are empty without rows, even where another argument has it.
        empty = array.name == "output_token_ids" and dims["B"] == 0
        return Promise(array.dtype, (0, 1) if empty else shape_of(array, dims))

    assert operation.result is not None
    tree = tree_of(operation.result, promise)
    return tree if isinstance(tree, dict) else {"out": tree}
