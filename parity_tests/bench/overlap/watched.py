"""The proof that nothing in a step of the loop reads or waits for the device past the door. JAX only."""

import re
from collections.abc import Callable
from typing import Any

from parity_tests.bench.overlap.host import READ, Host
from parity_tests.bench.overlap.steps import Carry, Loop, Step

# What Python itself needs of a type; all else that an array of JAX can be asked for is refused.
_KEPT = ("__class__", "__del__", "__dict__", "__doc__", "__init__", "__module__", "__new__", "__slots__", "__weakref__")
_CALLS_HOST = re.compile(r"\w*callback\w*|\binfeed|\boutfeed|stablehlo\.(?:send|recv)")


class HiddenReadError(Exception):
    """A step does more with the device's arrays than hand them on; the text says what."""


def count_reads(loop: Loop, carry: Carry, step: Step, steps: int) -> int:
    """The most reads through the door in one of so many steps; raises `HiddenReadError` for what goes past it.

    The step runs on stand-ins, which the programs and the door take and which refuse everything else. What names no
    array of the step is not seen: `jax.effects_barrier()`, a lock, a sleep.
    """
    import jax

    used: list[str] = []
    kind = _stand_in(jax.Array, type(carry.cu_seqlens_q), used)

    def hide(tree: Any) -> Any:
        return jax.tree.map(kind, tree)

    def show(tree: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf.held if type(leaf) is kind else leaf, tree)

    watched, carry, most = _watched(loop, hide, show), hide(carry), 0
    for _ in range(steps):
        host = Host([], lambda fetch, array: fetch(show(array)), 0)
        try:
            carry, _ = step(watched, carry, host)
        except Exception as error:
            # Some of JAX and NumPy refuse a stand-in before they ask it for anything.
            used.append(str(error))
            raise HiddenReadError(_told(step, used)) from error
        most = max(most, sum(span.name == READ for span in host.spans))
    # An exception in a method such as `__repr__` or `__eq__` does not reach the step.
    if used:
        raise HiddenReadError(_told(step, used))
    return most


def _stand_in(base: type, kind: type, used: list[str]) -> Any:
    def refused(name: str) -> property:
        def refuse(_: Any) -> Any:
            used.append(f"`{name}` of an array")
            raise HiddenReadError(used[-1])

        return property(refuse)

    def init(self: Any, array: Any) -> None:
        self.held = array

    names = {name for each in kind.__mro__ if each is not object for name in vars(each)}.difference(_KEPT)
    members: dict[str, Any] = {name: refused(name) for name in names}
    # Code that asks whether it has an array is told that it has.
    lie = property(lambda _: base)
    return type("StandIn", (), members | {"__init__": init, "__class__": lie})


def _watched(loop: Loop, hide: Callable[[Any], Any], show: Callable[[Any], Any]) -> Loop:
    def watched(program: Any) -> Callable[..., Any]:
        texts: list[str] = []

        def call(*given: Any) -> Any:
            arrays = show(given)
            # One is enough: all steps have the same shapes.
            if not texts:
                texts.append(program.lower(*arrays).as_text())
            if found := _CALLS_HOST.search(texts[0]):
                raise HiddenReadError(f"`{found[0]}` in the program `{program.__name__}`")
            return hide(program(*arrays))

        return call

    stack = loop.stack._replace(put=lambda array: hide(loop.stack.put(array)))
    programs = type(loop.programs)(*map(watched, loop.programs))
    return loop._replace(stack=stack, constants=hide(loop.constants), programs=programs)


def _told(step: Step, used: list[str]) -> str:
    return f"`{step.__name__}` may read the device past the door: {used[0]}"
