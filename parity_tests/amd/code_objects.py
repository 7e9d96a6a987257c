"""Linked AMD machine code: the ELF files that the compiler leaves, and which GPU each is for."""

import struct
from pathlib import Path

_MAGIC = b"\x7fELF"
_AMDGPU = 224
_MACHINE_AT, _FLAGS_AT = 18, 48


def machines_in(folder: Path) -> list[int]:
    """The machine of every code object in `folder`."""
    return [machine_of(path.read_bytes()) for path in sorted(folder.glob("*.hsaco"))]


def machine_of(code: bytes) -> int:
    """The low byte of the ELF flags, `EF_AMDGPU_MACH`; raises `ValueError` for what is no AMD code object."""
    if code[:4] != _MAGIC or len(code) < _FLAGS_AT + 4 or struct.unpack_from("<H", code, _MACHINE_AT)[0] != _AMDGPU:
        raise ValueError(f"not an AMD code object: {code[:20]!r}")
    return struct.unpack_from("<I", code, _FLAGS_AT)[0] & 0xFF
