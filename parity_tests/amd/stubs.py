"""Libraries that stand in for ROCm, so that XLA's plugin loads where ROCm is not installed.

The compiler is all inside the plugin; of ROCm it needs no more than that the names can be resolved. Every function of a
stub returns an error, so nothing can be executed over them.
"""

import re
import subprocess
from collections import defaultdict
from pathlib import Path

# Every process has these.
_SYSTEM = re.compile(r"(libm|librt|libpthread|libdl|libstdc\+\+|libc|ld-linux.*|libgcc_s)\.so")
_TEXTS = ("hipGetErrorString", "hipGetErrorName")
_ERROR = 100

Symbols = dict[str, dict[str, list[str]]]


def build_stubs(plugin: Path, folder: Path) -> list[Path]:
    """One shared library for each that `plugin` needs and a system without ROCm lacks, in the order to load them in."""
    symbols = missing_symbols(*(_readelf(plugin, flag) for flag in ("--dynamic", "--version-info", "--dyn-syms")))
    return [_build(library, versions, folder) for library, versions in symbols.items()]


def missing_symbols(dynamic: str, versions: str, symbols: str) -> Symbols:
    """What the plugin wants of each library, by symbol version (`""` for none), read from what `readelf` prints."""
    wanted: Symbols = {
        name: defaultdict(list) for name in re.findall(r"NEEDED.*\[(.*?)\]", dynamic) if not _SYSTEM.match(name)
    }
    library_of = _libraries_by_version(versions)
    for line in symbols.splitlines():
        fields = line.split()
        if len(fields) < 8 or fields[6] != "UND" or fields[4] == "WEAK":
            continue
        name, _, version = fields[7].partition("@")
        library = library_of.get(version) if version else next(iter(wanted), None)
        if library in wanted:
            wanted[library][version].append(name)
    return wanted


def _libraries_by_version(text: str) -> dict[str, str]:
    found, library = {}, ""
    for line in text.splitlines():
        if file := re.search(r"File: (\S+)", line):
            library = file[1]
        elif name := re.search(r"Name: (\S+)", line):
            found[name[1]] = library
    return found


def _build(library: str, versions: dict[str, list[str]], folder: Path) -> Path:
    source, script, built = folder / f"{library}.c", folder / f"{library}.map", folder / library
    source.write_text("".join(_definition(name) for names in versions.values() for name in names))
    named = {version: names for version, names in versions.items() if version}
    script.write_text("".join(f"{version} {{ global: {'; '.join(names)}; }};\n" for version, names in named.items()))
    linker = [f"-Wl,-soname,{library}", *([f"-Wl,--version-script={script}"] if named else [])]
    _run("gcc", "-w", "-shared", "-fPIC", *linker, "-o", str(built), str(source))
    return built


def _definition(name: str) -> str:
    if name in _TEXTS:
        return f'const char *{name}(void) {{ return "a stub of ROCm"; }}\n'
    return f"long {name}(void) {{ return {_ERROR}; }}\n"


def _readelf(library: Path, flag: str) -> str:
    return _run("readelf", "--wide", flag, str(library))


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
