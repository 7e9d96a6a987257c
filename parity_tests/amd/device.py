"""A GPU that is not there, as a JAX device that can be compiled for."""

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from parity_tests.amd.targets import Target, description


def absent_device(target: Target, plugin: Path, stubs: Iterable[Path]) -> Any:
    """The device `target` of the ROCm plugin at `plugin`, which finds ROCm's libraries in `stubs`.

    Uses private functions of JAX: its version has to be the pinned one. Once a process: JAX has one plugin a platform.
    """
    for stub in stubs:
        ctypes.CDLL(str(stub), mode=os.RTLD_GLOBAL | os.RTLD_NOW)
    import jax
    from jax._src import xla_bridge
    from jax.experimental import topologies
    from jaxlib import xla_client

    jax.config.update("jax_platforms", "cpu")
    options: dict[str, Any] = {**xla_client.generate_pjrt_gpu_plugin_options(), "platform_name": "ROCM"}
    # It would log, with a traceback, that there is no AMD GPU.
    xla_bridge.discover_pjrt_plugins = lambda: None
    xla_bridge.register_plugin("rocm", priority=500, library_path=str(plugin), options=options)
    topology = topologies.get_topology_desc("", platform="rocm", topology="1x1x1", target_config=description(target))
    return topology.devices[0]
