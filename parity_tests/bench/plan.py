"""What a session of measuring is told."""

from typing import Any, NamedTuple

from parity_tests.bench.cases import Row
from parity_tests.bench.variants import FLOOR


class Plan(NamedTuple):
    """Rows, which of them torch compiles, texts that a variant's path must hold, and other people's functions.

    Where `variants` names any, there are no others. A block has at most `rounds` rounds and takes about `block_ns`;
    `dispatch` times calls without waiting for them.
    """

    rows: tuple[Row, ...]
    compiled_by_torch: frozenset[Row]
    texts: tuple[str, ...] = ()
    implementations: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    torch: bool = True
    dispatch: bool = False
    blocks: int = 5
    rounds: int = 80
    block_ns: int = 30_000_000


def as_json(plan: Plan) -> dict[str, Any]:
    """The plan as plain data."""
    return plan._asdict() | {"compiled_by_torch": sorted(plan.compiled_by_torch)}


def from_json(data: dict[str, Any]) -> Plan:
    """The plan again.

    >>> plan = Plan((Row("seq_lens", 8, 3, "full"),), frozenset())
    >>> from_json(as_json(plan)) == plan
    True
    """
    rows, compiled = ([Row(*row) for row in data[name]] for name in ("rows", "compiled_by_torch"))
    lists = {name: tuple(data[name]) for name in ("texts", "implementations", "variants")}
    known: dict[str, Any] = data | lists | {"rows": tuple(rows), "compiled_by_torch": frozenset(compiled)}
    return Plan(**known)


def kept(row: Row, names: list[str], texts: tuple[str, ...]) -> list[str]:
    """The variants of a row whose path holds all of `texts`, and with any of them the floor.

    >>> kept(Row("seq_lens", 8, 3, "full"), ["floor", "jax", "torch"], ("/B=8/", "torch"))
    ['floor', 'torch']
    """
    wanted = [name for name in names if all(text in path(row, name) for text in texts)]
    return [name for name in names if wanted and (name in wanted or name == FLOOR)]


def path(row: Row, name: str) -> str:
    """What a filter looks at: a text between slashes is a whole word.

    >>> path(Row("seq_lens", 8, 3, "full"), "jax")
    '/seq_lens/B=8/K=3/full/jax/'
    """
    return f"/{row.operation}/B={row.batch}/K={row.columns}/{row.lengths}/{name}/"
