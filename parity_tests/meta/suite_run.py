"""`pytest` as somebody runs it in a folder of their own, with the plugin as it is installed."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

SUITE = ("--pyargs", "parity_tests.suite")
ROOT = Path(__file__).parents[2]


def run_pytest(folder: Path, *arguments: str, suite: tuple[str, ...] = SUITE) -> tuple[int, str]:
    """The exit status, and all that was printed."""
    installed = any(entry.name == "parity_tests" for entry in entry_points(group="pytest11"))
    plugin = () if installed else ("-p", "parity_tests.kit.plugin")
    # Unlike `python -m pytest`, the command `pytest` does not find modules in the folder where it is started.
    command = [sys.executable, "-P", "-m", "pytest", *plugin, *suite, "-q", "--tb=short", *arguments]
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
