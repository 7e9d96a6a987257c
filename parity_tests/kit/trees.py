"""Nested dicts of arrays: the form that arguments and results of every implementation have here."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Tree = dict[str, Any]


def leaves(tree: Tree, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf with its dotted path, in order.

    >>> list(leaves({"state": {"anchors": 1}, "slots": 2}))
    [('state.anchors', 1), ('slots', 2)]
    """
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def map_leaves(function: Callable[[str, Any], Any], tree: Tree, prefix: str = "") -> Tree:
    """The same tree with `function(path, leaf)` in place of every leaf.

    >>> map_leaves(lambda path, leaf: f"{path}={leaf}", {"state": {"anchors": 1}, "slots": 2})
    {'state': {'anchors': 'state.anchors=1'}, 'slots': 'slots=2'}
    """
    return {
        name: map_leaves(function, value, f"{prefix}{name}.")
        if isinstance(value, dict)
        else function(prefix + name, value)
        for name, value in tree.items()
    }


def fill(known: Tree, rest: Tree) -> Tree:
    """`rest` with every leaf that `known` has taken from there.

    >>> fill({"a": {"b": 1}}, {"a": {"b": 0, "c": 0}, "d": 0})
    {'a': {'b': 1, 'c': 0}, 'd': 0}
    """
    found = dict(leaves(known))
    return map_leaves(lambda path, leaf: found.get(path, leaf), rest)


def signature(tree: Tree) -> tuple:
    """What a compiler sees of a tree: dtype and shape of its arrays, and whatever is no array as it is."""
    return tuple(
        (path, leaf.dtype.str, leaf.shape) if isinstance(leaf, np.ndarray) else (path, type(leaf).__name__, repr(leaf))
        for path, leaf in leaves(tree)
    )
