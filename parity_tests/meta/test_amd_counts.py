"""What is read from XLA, from the linker and from `readelf`, on texts and bytes as they print them."""

import struct

import pytest

from parity_tests.amd.code_objects import machine_of, machines_in
from parity_tests.amd.counts import Counts, count
from parity_tests.amd.stubs import missing_symbols
from parity_tests.amd.targets import TARGETS, description

STRAIGHT = """\
001: kCustomKernel [source       | next=002 (1)] loop_broadcast_fusion grid: [2, 1, 1] threads: [256, 1, 1]
002: kCustomKernel [prev=001 (1) | sink        ] input_scatter_fusion grid: [2, 1, 1] threads: [256, 1, 1]
003: kCopy         [source | sink] kCopy
004: kMemzero      [source | sink] kMemzero
005: kMemset32BitValue [source | sink]
006: kKernel       [source | sink] sort
"""
LOOP = """\
001: kCopy  [source       | next=004 (3)] kCopy
004: kWhile [prev=003 (1) | sink        ]
condition:
    005: kCustomKernel [source | sink] wrapped_compare grid: [1, 1, 1] threads: [1, 1, 1]  shared_memory: 0 bytes
  body:
    006: kCustomKernel [source       | next=007 (1)] loop_convert_fusion grid: [1, 1, 1] threads: [64, 1, 1]
    008: kCopy         [prev=006 (2) | sink        ] kCopy
"""
BRANCH = """\
001: kCustomKernel [source       | next=004 (1)] loop_compare_fusion grid: [1, 1, 1] threads: [1, 1, 1]
004: kConditional  [prev=001 (1) | sink        ]
  false_branch:
    002: kCustomKernel [source | sink] wrapped_reverse grid: [1, 1, 1] threads: [64, 1, 1]  shared_memory: 0 bytes
  true_branch:
    003: kCustomKernel [source | sink] loop_add_fusion grid: [1, 1, 1] threads: [64, 1, 1]  shared_memory: 0 bytes
"""
TO_HOST = """\
001: kCustomKernel [source       | next=003 (1)] loop_add_fusion grid: [1, 1, 1] threads: [64, 1, 1]
003: kAsyncStart   [prev=001 (1) | sink        ] stream=computation_stream[0], async_id=3
    002: kCopy [source | sink] (no description)
004: kAsyncDone    [source       | sink        ] async_id=3
"""
TO_HOST_PROGRAM = """\
HloModule jit_f, is_scheduled=true, entry_computation_layout={(s32[64]{0})->s32[64]{0:S(5)}}
  %copy-start.1 = (s32[64]{0:S(5)}, s32[64]{0}, u32[]) copy-start(%loop_add_fusion), backend_config={}
  ROOT %copy-done.1 = s32[64]{0:S(5)} copy-done(%copy-start.1)
"""


@pytest.mark.parametrize(
    ("thunks", "program", "expected"),
    [
        ("", "", Counts()),
        (STRAIGHT, "", Counts(kernels=3, copies=1, memsets=2)),
        (LOOP, "", Counts(kernels=2, copies=2, whiles=1)),
        (BRANCH, "", Counts(kernels=3, branches=1)),
        (TO_HOST, TO_HOST_PROGRAM, Counts(kernels=1, copies=1, host_transfers=1, others=2)),
        ("001: kCustomCall [source | sink] xla_ffi_python_gpu_callback", "", Counts(custom_calls=1)),
        ("001: kHostSend [source | sink]\n002: kOutfeed [source | sink]", "", Counts(host_transfers=2)),
        ("001: kSomethingNew [source | sink]", "", Counts(others=1)),
    ],
)
def test_launches_are_counted(thunks, program, expected):
    assert count(thunks, program) == expected


def code_object(machine=0x4C, of=224):
    return b"\x7fELF".ljust(18, b"\0") + struct.pack("<H", of) + bytes(28) + struct.pack("<I", 0xE00 | machine)


def test_a_code_object_tells_its_gpu(tmp_path):
    for target in TARGETS.values():
        assert machine_of(code_object(target.machine)) == target.machine
    (tmp_path / "a.hsaco").write_bytes(code_object())
    (tmp_path / "a.o").write_bytes(b"")
    assert machines_in(tmp_path) == [0x4C]


@pytest.mark.parametrize("code", [b"", b"\x7fELF", code_object(of=62), b"\0" + code_object()[1:]])
def test_other_files_are_refused(code):
    with pytest.raises(ValueError, match="not an AMD code object"):
        machine_of(code)


def test_targets_are_described_by_their_architecture():
    for arch, target in TARGETS.items():
        assert f'gcn_arch_name: "{arch}' in description(target)
        assert f'device_description_str: "{target.card}"' in description(target)


DYNAMIC = """\
 0x0000000000000001 (NEEDED)             Shared library: [librocblas.so.5]
 0x0000000000000001 (NEEDED)             Shared library: [libamdhip64.so.7]
 0x0000000000000001 (NEEDED)             Shared library: [libstdc++.so.6]
"""
VERSIONS = """\
  000000: Version: 1  File: libamdhip64.so.7  Cnt: 1
  0x0010:   Name: hip_4.2  Flags: none  Version: 7
  0x0020: Version: 1  File: libc.so.6  Cnt: 1
  0x0030:   Name: GLIBC_2.2.5  Flags: none  Version: 2
"""
SYMBOLS = """\
   Num:    Value          Size Type    Bind   Vis      Ndx Name
     0: 0000000000000000     0 NOTYPE  LOCAL  DEFAULT  UND
     1: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND hipMalloc@hip_4.2 (7)
     2: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND rocblas_sgemm
     3: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND malloc@GLIBC_2.2.5 (2)
     4: 0000000000000000     0 NOTYPE  WEAK   DEFAULT  UND __gmon_start__
     5: 0000000000000000     0 FUNC    GLOBAL DEFAULT   12 GetPjrtApi
"""


def test_missing_symbols_belong_to_the_library_of_their_version():
    assert missing_symbols(DYNAMIC, VERSIONS, SYMBOLS) == {
        "librocblas.so.5": {"": ["rocblas_sgemm"]},
        "libamdhip64.so.7": {"hip_4.2": ["hipMalloc"]},
    }
