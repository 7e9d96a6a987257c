"""The whole experiment: reads counted, runs timed, runs watched; torch the same on a card, on a CPU only counted."""

from importlib.util import find_spec
from time import perf_counter

from parity_tests.bench.overlap.measure import WAYS, Lanes, Plan, least_disturbed, profiled, timed, warm_up
from parity_tests.bench.overlap.model import CARD, Sizes
from parity_tests.bench.overlap.report import Report, describe_environment
from parity_tests.bench.overlap.stacks import jax_stack, torch_stack
from parity_tests.bench.overlap.steps import make_loop
from parity_tests.bench.overlap.torch_counts import count_events
from parity_tests.bench.overlap.watched import count_reads

# Steps of torch on a CPU.
COUNTED = 4


def experiment(plan: Plan, sizes: Sizes, torch_on: str | None) -> tuple[Report, list[Lanes]]:
    """What was found, and the runs to draw.

    Raises `DifferentTokensError` and `HiddenReadError`.
    """
    began, stack = perf_counter(), jax_stack()
    # Now, for the load average must not be that of the experiment's own work.
    environment = describe_environment(stack.device)
    loop, first = make_loop(stack, sizes)
    warm_up(loop, first, plan.steps)
    reads = {way: count_reads(loop, first, step, plan.steps) for way, step in WAYS.items()}
    samples, seen = list(timed(loop, first, plan)), list(profiled(loop, first, plan))
    samples += [sample for sample, _ in seen]
    events = None
    if torch_on:
        loop, first = make_loop(torch_stack(torch_on), sizes)
        # Without a card there is nothing to overlap: counted, but not timed.
        steps = plan.steps if torch_on == "cuda" else COUNTED
        warm_up(loop, first, steps)
        events = count_events(loop, first, steps)
        if torch_on == "cuda":
            samples += timed(loop, first, plan)
    report = Report(plan, sizes, environment, reads, events, samples, perf_counter() - began)
    return report, least_disturbed(seen, plan.host_ms)


def usual_sizes() -> Sizes:
    """Sizes that keep JAX's default device busy for milliseconds."""
    import jax

    return Sizes() if jax.devices()[0].platform == "cpu" else CARD


def torch_device() -> str | None:
    """The device of torch where nobody chose one; None without torch."""
    if not find_spec("torch"):
        return None
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
