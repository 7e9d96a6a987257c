"""What there is on this machine, gathered: each framework is asked in a process of its own, which it may take down."""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from parity_tests.kit import probe
from parity_tests.kit.processes import ended, last_words

# Seconds in which a framework must have found its devices.
LONGEST = 120
# JAX's plugins, each in two parts, by the vendor of the devices.
PLUGINS = {
    "rocm": ("jax-rocm7-plugin", "jax-rocm7-pjrt"),
    "cuda": ("jax-cuda12-plugin", "jax-cuda12-pjrt", "jax-cuda13-plugin", "jax-cuda13-pjrt"),
}
PACKAGES = (
    "jax-spec-decode",
    "jax",
    "jaxlib",
    "jaxtyping",
    "numpy",
    "torch",
    *PLUGINS["rocm"],
    *PLUGINS["cuda"],
    "libtpu",
)
VARIABLES = re.compile(r"CI|(JAX|XLA)_\w+|(HIP|ROCR|CUDA)_VISIBLE_DEVICES")
AMD, NVIDIA = Path("/dev/kfd"), Path("/dev/nvidiactl")


class Framework(NamedTuple):
    """What a framework says of itself, or its fault.

    The vendor is `cpu`, `cuda`, `rocm` or `tpu`: of JAX's default devices, and what torch is built for.
    """

    vendor: str = ""
    devices: Sequence[str] = ()
    x64: bool = False
    fault: str = ""
    log: str = ""


class Facts(NamedTuple):
    """Everything that the doctor looks at; a framework that is not installed is None."""

    python: str
    system: str
    packages: dict[str, str]
    jax: Framework | None
    torch: Framework | None
    variables: dict[str, str]
    cards: tuple[str, ...]


def gather() -> Facts:
    """The facts of this machine and this environment."""
    packages = {name: found for name in PACKAGES if (found := probe.version_of(name))}
    return Facts(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        packages=packages,
        jax=_ask("jax") if "jax" in packages else None,
        torch=_ask("torch") if "torch" in packages else None,
        variables={name: value for name, value in sorted(os.environ.items()) if VARIABLES.fullmatch(name)},
        cards=tuple(vendor for vendor, path in (("rocm", AMD), ("cuda", NVIDIA)) if path.exists()),
    )


def _ask(name: str) -> Framework:
    # A look at a card should not take its memory from those who use it.
    environment = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    command = [sys.executable, "-P", str(probe.__file__), name]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return Framework(fault=f"no answer in {LONGEST} s")
    log = last_words(done.stderr)
    if done.returncode:
        return Framework(fault=log or f"the process {ended(done.returncode)}")
    return Framework(**json.loads(done.stdout.splitlines()[-1]), log=log)
