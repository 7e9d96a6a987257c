"""Run as a script, by any Python: what is installed there, or what JAX or torch says of its devices, in JSON.

The last line of the output is the answer; frameworks print what they like before it.
"""

import importlib
import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def version_of(name: str) -> str | None:
    """The version of a distribution, None where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _packages(*names: str) -> dict[str, Any]:
    spec = find_spec("jax_plugins")
    folders = spec.submodule_search_locations if spec else None
    plugins = [str(path) for folder in folders or () for path in Path(folder).glob("xla_rocm*/xla_rocm_plugin.so")]
    versions = {name: version_of(name) for name in names}
    return {"python": platform.python_version(), "versions": versions, "plugin": plugins[0] if plugins else None}


def _jax() -> dict[str, Any]:
    jax = importlib.import_module("jax")
    devices = jax.devices()
    client = devices[0].client
    vendor = client.platform
    # Both kinds of GPU call their platform so.
    if vendor == "gpu":
        vendor = "rocm" if "rocm" in client.platform_version.lower() else "cuda"
    return {"vendor": vendor, "devices": [device.device_kind for device in devices], "x64": jax.config.jax_enable_x64}


def _torch() -> dict[str, Any]:
    torch = importlib.import_module("torch")
    vendor = "rocm" if torch.version.hip else "cuda" if torch.version.cuda else "cpu"
    return {"vendor": vendor, "devices": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]}


if __name__ == "__main__":
    what, *names = sys.argv[1:]
    print(json.dumps({"packages": _packages, "jax": _jax, "torch": _torch}[what](*names)))
