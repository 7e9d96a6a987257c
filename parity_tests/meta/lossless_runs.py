"""Small runs of the exact model, for the tests of the loop."""

from parity_tests.lossless.exact.forward import exact_model
from parity_tests.lossless.exact.sweep import sizes_for
from parity_tests.lossless.exact.text import documentation, prompts
from parity_tests.lossless.frameworks import Framework
from parity_tests.lossless.loop import steps
from parity_tests.lossless.model import Sizes
from parity_tests.lossless.modes import Mode
from parity_tests.lossless.record import Run, collect
from parity_tests.lossless.step import Engine, make_engine
from parity_tests.lossless.workload import requests_from

REQUESTS = requests_from(prompts(documentation(), 7, seed=3), 16, seed=3)
SEED = 5


def engine(framework: Framework, drafts: int, sizes: Sizes | None = None) -> Engine:
    """The exact model in a framework."""
    sizes = sizes or sizes_for(REQUESTS, drafts)
    return make_engine(framework, exact_model(framework, documentation(), sizes), sizes)


def run(framework: Framework, drafts: int, mode: Mode) -> Run:
    """The requests decoded."""
    return collect(steps(engine(framework, drafts), mode, REQUESTS, SEED), REQUESTS)
