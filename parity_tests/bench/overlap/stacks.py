"""What the loop takes from a framework: its operations, its way to the device and back, its compiler."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np


class Stack(NamedTuple):
    """A framework and its device.

    `fetch_last` reads the last entry of `cu_seqlens_q` as code in that framework does. `mark` makes something of what
    a step emits that `wait` can wait for without reading it.
    """

    name: str
    device: str
    xp: ModuleType
    package: ModuleType
    put: Callable[[np.ndarray], Any]
    fetch: Callable[[Any], np.ndarray]
    fetch_last: Callable[[Any], int]
    compile: Callable[[Callable[..., Any]], Callable[..., Any]]
    mark: Callable[[Any], Any]
    wait: Callable[[Any], object]


def jax_stack() -> Stack:
    """JAX on its default device."""
    import jax

    import jax_spec

    return Stack(
        name="jax",
        device=jax.devices()[0].device_kind,
        xp=jax.numpy,
        package=jax_spec,
        put=jax.device_put,
        fetch=np.asarray,
        # The array has been read before, and its second reading is free; `int(cu[-1])` would launch a program.
        fetch_last=lambda array: int(np.asarray(array)[-1]),
        compile=jax.jit,
        mark=_same,
        wait=jax.block_until_ready,
    )


def torch_stack(device: str) -> Stack:
    """Torch on `cpu` or `cuda`, which is also what it calls an AMD card."""
    import torch

    import torch_ref

    on_card = device == "cuda"
    return Stack(
        name="torch",
        device=torch.cuda.get_device_name() if on_card else device,
        xp=torch,
        package=torch_ref,
        put=lambda array: torch.from_numpy(array).to(device, non_blocking=True),
        fetch=lambda tensor: tensor.cpu().numpy(),
        fetch_last=lambda tensor: int(tensor[-1]),
        compile=_same,
        mark=(lambda _: torch.cuda.current_stream().record_event()) if on_card else _same,
        # On a CPU the step is done when its call returns.
        wait=(lambda event: event.synchronize()) if on_card else _same,
    )


def _same(value: Any) -> Any:
    return value
