"""An adapter as a subject: a function from a dict of NumPy arrays to a dict of NumPy arrays, for kernels that are
called in another way than the contract says (output buffers, in place, other names).

`numpy:module:function` is called `function(operation, inputs, static)`; `OPERATION=numpy:module:function` is called
`function(inputs, static)`. `inputs` has the arguments by name, a NamedTuple as a dict of its fields; the result has
the fields by name, or a single array under `out`. The arrays belong to the adapter: it may write into them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from parity_tests.kit.calls import in_order, private_inputs
from parity_tests.kit.cases import Case
from parity_tests.kit.compare import Outcome
from parity_tests.kit.contract import Operation
from parity_tests.kit.doors import Spec, SpecError, resolve
from parity_tests.kit.subjects import Subject, of_operations
from parity_tests.kit.vectors import OPERATION_NAMES


def adapted(spec: Spec) -> Subject:
    """The adapter that `spec` names; what it does not implement it says with `NotImplementedError`."""
    _, function = resolve(spec)
    if function is None:
        raise SpecError(f"{spec.text}: which function? Write {spec.text}:FUNCTION")

    def run(operation: Operation, cases: list[Case]) -> list[Outcome]:
        call = function if spec.operation else partial(function, operation.name)
        return [_once(call, operation, case) for case in cases]

    return of_operations(spec.text, OPERATION_NAMES, run)


def _once(call: Callable[..., Any], operation: Operation, case: Case) -> Outcome:
    try:
        result = call(private_inputs(case), dict(case.static))
    except Exception as error:
        return error
    if result is None and operation.result is None:
        return {}
    if not isinstance(result, dict):
        return TypeError(f"the adapter gave {type(result).__name__}, expected a dict; a single array is under 'out'")
    return in_order(operation, result)
