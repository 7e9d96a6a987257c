"""The AMD GPUs that the operations are compiled for, as XLA wants an absent card described."""

from typing import NamedTuple


class Target(NamedTuple):
    """What the compiler's choices depend on, and the `machine` that the ELF flags of a code object name."""

    card: str
    name: str
    machine: int
    cores: int
    wave: int
    shared_memory: int
    bandwidth: int
    l2_cache: int
    clock_ghz: float
    memory: int


# The first three as openxla/xla has them in `xla/backends/gpu/target_config/specs`, the last from AMD's data sheet; its
# cores are work-group processors, two compute units each, as HIP counts them on RDNA. Machines: LLVM's AMDGPU guide.
TARGETS: dict[str, Target] = {
    "gfx942": Target(
        "MI300X", "gfx942:sramecc+:xnack-", 0x4C, 304, 64, 65536, 6_810_000_000_000, 4 << 20, 2.1, 270_566_162_432
    ),
    "gfx950": Target(
        "MI355X", "gfx950:sramecc+:xnack-", 0x4F, 256, 64, 163840, 7_782_000_000_000, 4 << 20, 2.2, 270_566_162_432
    ),
    "gfx90a": Target(
        "MI250X", "gfx90a:sramecc+:xnack-", 0x3F, 110, 64, 65536, 1_638_400_000_000, 8 << 20, 1.7, 67_628_957_696
    ),
    "gfx1100": Target("RX 7900 XTX", "gfx1100", 0x41, 48, 32, 65536, 960_000_000_000, 6 << 20, 2.5, 24 << 30),
}


def description(target: Target) -> str:
    """The text form of XLA's `GpuTargetConfigProto`."""
    return f"""
gpu_device_info {{
  threads_per_block_limit: 1024 threads_per_warp: {target.wave} threads_per_core_limit: 2048
  shared_memory_per_block: {target.shared_memory} shared_memory_per_block_optin: {target.shared_memory}
  shared_memory_per_core: {target.shared_memory} registers_per_core_limit: 131072 registers_per_block_limit: 131072
  core_count: {target.cores} fpus_per_core: 128 clock_rate_ghz: {target.clock_ghz}
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65536 block_dim_limit_z: 65536
  memory_bandwidth: {target.bandwidth} l2_cache_size: {target.l2_cache} device_memory_size: {target.memory}
  rocm_compute_capability {{ gcn_arch_name: "{target.name}" }}
}}
platform_name: "ROCM" dnn_version_info {{ }} device_description_str: "{target.card}"
"""
