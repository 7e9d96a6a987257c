"""The reference by the operation's name, in the form that cases are written in."""

from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.reference import _schedule, _step, _tokens, _verify
from parity_tests.kit.reference._tables import Record

_MODULES = {6: _verify, 8: _step, 10: _schedule}


def evaluate(name: str, inputs: Record, static: dict[str, int]) -> Record:
    """The results of operation `name` as a dict of its fields, a single array under `out`.

    >>> import numpy as np
    >>> evaluate("cu_seqlens", {"query_lens": np.array([[1, 4, 2], [0, 1, 0]], np.int32)}, {})["out"].tolist()
    [[0, 1, 5, 7], [0, 0, 1, 1]]
    """
    module = _MODULES.get(OPERATIONS[name].section, _tokens)
    result = getattr(module, name.removesuffix("_donated"))(**inputs, **static)
    return result if isinstance(result, dict) else {"out": result}
