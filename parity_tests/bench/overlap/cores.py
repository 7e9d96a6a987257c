"""On a CPU, host and device apart: one core for the host and the others for the device, as if it were a card."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def divided_cores() -> Iterator[None]:
    """Inside, if JAX is on the CPU, this thread keeps to the first core; JAX's own, if they begin here, to the others.

    Else the scheduler lets them push each other aside: launching a program then seems to take as long as the program.
    """
    import jax

    cores = sorted(os.sched_getaffinity(0))
    first, others = cores[:1], cores[1:] or cores
    # Threads keep to the cores of the one that starts them.
    os.sched_setaffinity(0, others)
    on_cpu = jax.devices()[0].platform == "cpu"
    os.sched_setaffinity(0, first if on_cpu else cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
