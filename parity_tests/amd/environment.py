"""The pinned environment that compiles for AMD GPUs: where it is, what it lacks, how it is built."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from parity_tests.kit import probe

# The extra `amd` of the distribution. The distribution itself is lent to the environment, so it is never stale there.
PINNED = {
    "jax": "0.10.2",
    "jaxlib": "0.10.2",
    "jax-rocm7-plugin": "0.10.2",
    "jax-rocm7-pjrt": "0.10.2",
    "jaxtyping": "0.3.11",
}
TOOLS = ("gcc", "readelf")
VARIABLE = "JAX_SPEC_AMD_PYTHON"
DEFAULT = Path(".venv-amd")


class Environment(NamedTuple):
    """What a Python has of what is needed."""

    python: Path
    python_version: str
    versions: dict[str, str | None]
    plugin: Path | None


def python_of(folder: Path) -> Path:
    """The interpreter of the virtual environment in `folder`."""
    return folder / "bin" / "python"


def choose(folder: Path | None) -> Path:
    """The Python to use: of `folder`, else the one that `VARIABLE` names, else of `DEFAULT`, else this one."""
    if folder:
        return python_of(folder)
    if named := os.environ.get(VARIABLE):
        return Path(named)
    return python_of(DEFAULT) if python_of(DEFAULT).exists() else Path(sys.executable)


def look_at(python: Path) -> Environment:
    """What `python` has; `OSError` where there is no such program."""
    command = [str(python), "-P", str(probe.__file__), "packages", *PINNED]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    plugin = Path(found["plugin"]) if found["plugin"] else None
    return Environment(python, found["python"], found["versions"], plugin)


def missing_tools() -> list[str]:
    """Those of `TOOLS` that are not on the path."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def problems(environment: Environment, tools: list[str]) -> list[str]:
    """Why nothing can be compiled there, each with its remedy; `tools` are those that are missing."""
    found = [f"{tool} is missing: install {'gcc' if tool == 'gcc' else 'binutils'}" for tool in tools]
    wrong = [
        f"{name} {environment.versions[name] or 'is missing'}, expected {version}"
        for name, version in PINNED.items()
        if environment.versions[name] != version
    ]
    if wrong:
        found.append(
            f"{environment.python}: {'; '.join(wrong)}. Build an environment with --build-env {DEFAULT}, "
            f"or name one with --env or {VARIABLE}"
        )
    elif environment.plugin is None:
        found.append(f"{environment.python}: the ROCm plugin has no library; install jax-rocm7-pjrt again")
    return found


def build(folder: Path) -> None:
    """Make the environment in `folder`, or complete it; about 250 MB are downloaded."""
    if not python_of(folder).exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    requirements = [f"{name}=={version}" for name, version in PINNED.items()]
    subprocess.run([str(python_of(folder)), "-m", "pip", "install", "--quiet", *requirements], check=True)
