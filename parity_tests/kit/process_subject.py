"""A program in any language as a subject: JSON lines on its stdin and stdout, one for a call and one for its answer.

A request is a golden vector without its answer: `{"id", "op", "static", "inputs"}`, without spaces, its keys in the
contract's order. An answer is `{"expected": ...}`, written as in the vectors, or `{"error": "ValueError", "message":
...}`, or `{"unsupported": why}`. `request.schema.json` and `answer.schema.json`, beside the vectors, say the same.
The program is kept open, and started anew if it ends. What it wrote to stderr is shown when it fails.
"""

import atexit
import json
import math
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import suppress
from functools import cache
from threading import Timer
from time import perf_counter
from typing import IO, Any, NamedTuple

import numpy as np

from parity_tests.kit.calls import in_order
from parity_tests.kit.cases import Case, dump_request
from parity_tests.kit.compare import Outcome
from parity_tests.kit.contract import Operation
from parity_tests.kit.doors import Spec, SpecError
from parity_tests.kit.processes import ended
from parity_tests.kit.subjects import Subject, of_operations
from parity_tests.kit.vectors import OPERATION_NAMES

# Seconds for one answer. A program that was late so many times in a row is taken to hang, and is not asked again.
LONGEST = 20.0
PATIENCE = 3
# How much is worth showing of an answer that cannot be read, and of what was written to stderr.
SHOWN = 500
# What an entry of an array is in JSON. NumPy would make an int32 of 1.5 and of "1", too.
_ENTRIES = {"int32": (int,), "int64": (int,), "bool": (bool,), "float32": (int, float, str)}

Conversation = Generator[Outcome, Case, None]


class ProgramFailed(Exception):  # noqa: N818 - it reads as what happened
    """A program that gave no answer, or none that can be read."""


class ProgramLate(ProgramFailed):
    """A program that gave no answer in time."""


class Program(NamedTuple):
    """A running program, the ends of its pipes, and the file that takes what it writes to stderr."""

    process: subprocess.Popen[bytes]
    requests: IO[bytes]
    answers: IO[bytes]
    log: IO[bytes]


def talking(spec: Spec) -> Subject:
    """The program that `spec` names, with its arguments; it is started for the first case."""
    command = shlex.split(spec.target)
    if not command or not shutil.which(command[0]):
        raise SpecError(f"{spec.text}: no program is called {spec.target!r}")

    @cache
    def begun() -> Conversation:
        talk = conversation(command)
        next(talk)
        # Left to the end of the interpreter, the program would outlive what stops it.
        atexit.register(talk.close)
        return talk

    def run(operation: Operation, cases: list[Case]) -> list[Outcome]:
        outcomes = [begun().send(case) for case in cases]
        return [in_order(operation, outcome) if isinstance(outcome, dict) else outcome for outcome in outcomes]

    return of_operations(spec.text, OPERATION_NAMES, run)


def conversation(command: list[str], longest: float = LONGEST) -> Conversation:
    """For each case that is sent in, what the program makes of it; to close it ends the program."""
    program, late = None, 0
    outcome: Outcome = {}
    try:
        while True:
            case = yield outcome
            if late == PATIENCE:
                outcome = ProgramLate(f"not asked: {late} times in a row there was no answer in {longest:g} s")
                continue
            try:
                program = program or _start(command)
                outcome, late = read(_ask(program, dump_request(case), longest)), 0
            except ProgramFailed as failure:
                outcome, late = failure, late + 1 if isinstance(failure, ProgramLate) else 0
                # Also after an answer that cannot be read: whatever comes behind it may belong to it.
                program = _stop(program)
    finally:
        _stop(program)


def read(line: bytes) -> Outcome:
    """The outcome that a line of a program says."""
    try:
        match json.loads(line):
            case {"expected": dict(tree), **rest} if not rest:
                return _tree(tree)
            case {"error": str(name), "message": str(message), **rest} if not rest:
                return ValueError(message) if name == "ValueError" else RuntimeError(f"{name}: {message}")
            case {"unsupported": str(why), **rest} if not rest:
                return NotImplementedError(why)
        raise ValueError("expected `expected`, or `error` and `message`, or `unsupported`")
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise ProgramFailed(f"the program's line is no answer ({told}): {_shown(line[:SHOWN])}") from error


def _tree(value: dict[str, Any]) -> Any:
    return _array(**value) if "dtype" in value else {name: _tree(field) for name, field in value.items()}


def _array(dtype: str, shape: list[int], data: list[Any]) -> np.ndarray:
    if not all(type(entry) in _ENTRIES[dtype] for entry in data):
        raise TypeError(f"not all of `data` is {dtype}")
    if math.prod(shape) != len(data):
        raise ValueError(f"{len(data)} entries are not of shape {shape}")
    return np.array(data, dtype).reshape(shape)


def _start(command: list[str]) -> Program:
    log = tempfile.TemporaryFile()  # noqa: SIM115 - it is open as long as the program runs
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, start_new_session=True)
    except OSError as error:
        log.close()
        raise ProgramFailed(f"cannot start {command[0]}: {error}") from error
    assert process.stdin is not None
    assert process.stdout is not None
    return Program(process, process.stdin, process.stdout, log)


def _ask(program: Program, request: str, longest: float) -> bytes:
    begin = perf_counter()
    # To kill it ends the wait for its line, and the wait for it to take ours.
    timer = Timer(longest, _kill, [program.process])
    timer.start()
    try:
        with suppress(BrokenPipeError):
            program.requests.write(request.encode() + b"\n")
            program.requests.flush()
        line = program.answers.readline()
    finally:
        timer.cancel()
    if line.endswith(b"\n"):
        return line
    if perf_counter() - begin >= longest:
        raise ProgramLate(f"no answer in {longest:g} s (a program must flush each line){_said(program, line)}")
    with suppress(subprocess.TimeoutExpired):
        program.process.wait(1)
    status = program.process.poll()
    how = "closed its stdout" if status is None else ended(status)
    raise ProgramFailed(f"no answer: the program {how}{_said(program, line)}")


def _said(program: Program, line: bytes) -> str:
    """What there is to see of a program that failed."""
    program.log.seek(max(program.log.seek(0, os.SEEK_END) - SHOWN, 0))
    streams = {"stdout": line[:SHOWN], "stderr": program.log.read()}
    return "".join(f"\n{name}: {_shown(text)}" for name, text in streams.items() if text.strip())


def _shown(text: bytes) -> str:
    return text.decode(errors="replace").strip()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _stop(program: Program | None) -> None:
    if program is None:
        return
    _kill(program.process)
    program.process.wait()
    with suppress(BrokenPipeError):
        program.requests.close()
    program.answers.close()
    program.log.close()
