"""The doctor, on facts that nobody has to have the hardware for, and on what a process leaves when it dies."""

import argparse
import subprocess
import sys

import pytest

from parity_tests.kit import doctor, facts
from parity_tests.kit.facts import Facts, Framework

PACKAGES = {"jax": "0.10.2", "jaxlib": "0.10.2", "numpy": "2.4.6", "torch": "2.13.0+cpu"}
CUDA = PACKAGES | {"jax-cuda13-plugin": "0.10.2", "jax-cuda13-pjrt": "0.10.2"}
ROCM = PACKAGES | {"jax-rocm7-plugin": "0.10.2", "jax-rocm7-pjrt": "0.10.2"}
ON_CPU = Framework("cpu", ("cpu",))
HEALTHY = Facts("3.11.7", "Linux x86_64", PACKAGES, ON_CPU, ON_CPU, {}, ())
ON_ROCM = HEALTHY._replace(
    packages=ROCM,
    jax=Framework("rocm", ("AMD Instinct MI300X",)),
    torch=Framework("rocm", ("AMD Instinct MI300X",)),
    cards=("rocm",),
    variables={"JAX_PLATFORMS": "rocm", "XLA_FLAGS": "--xla_gpu_enable_command_buffer="},
)
ON_CUDA = HEALTHY._replace(
    packages=CUDA, jax=Framework("cuda", ("H200",)), torch=Framework("cuda", ("H200",)), cards=("cuda",)
)


def without(name, given=PACKAGES):
    return {key: value for key, value in given.items() if key != name}


@pytest.mark.parametrize("healthy", [HEALTHY, ON_ROCM, ON_CUDA], ids=["cpu", "rocm", "cuda"])
def test_a_healthy_environment_has_no_findings(healthy):
    assert doctor.findings(healthy) == []


PROBLEMS = {
    "Python 3.10.1 is too old": HEALTHY._replace(python="3.10.1"),
    "JAX is not installed": HEALTHY._replace(packages={"torch": "2.13.0"}, jax=None),
    "jax 0.9.1 is too old": HEALTHY._replace(packages=PACKAGES | {"jax": "0.9.1", "jaxlib": "0.9.1"}),
    "jaxlib is 0.10.1, jax is 0.10.2": HEALTHY._replace(packages=PACKAGES | {"jaxlib": "0.10.1"}),
    "jaxlib is None, jax is 0.10.2": HEALTHY._replace(packages=without("jaxlib")),
    "torch 2.14.1 has not been tried": HEALTHY._replace(packages=PACKAGES | {"torch": "2.14.1"}),
    "jax-rocm7-plugin is 0.10.1, jax is 0.10.2": ON_ROCM._replace(packages=ROCM | {"jax-rocm7-plugin": "0.10.1"}),
    "there is an AMD card, and JAX has no plugin": HEALTHY._replace(cards=("rocm",)),
    "there is an NVIDIA card, and JAX has no plugin": HEALTHY._replace(cards=("cuda",)),
    "jax does not start: it crashed": HEALTHY._replace(jax=Framework(fault="it crashed")),
    "torch does not start: it crashed": HEALTHY._replace(torch=Framework(fault="it crashed")),
    "beside an AMD card: no librccl": ON_ROCM._replace(jax=ON_CPU._replace(log="no librccl"), variables={}),
    "JAX_PLATFORMS=gpu": ON_CUDA._replace(variables={"JAX_PLATFORMS": "gpu"}),
    "a CPU can pass for a GPU": ON_CUDA._replace(variables={"CI": "true"}),
    "HIP_VISIBLE_DEVICES=2 counts within ROCR_VISIBLE_DEVICES=2": ON_ROCM._replace(
        variables=ON_ROCM.variables | {"HIP_VISIBLE_DEVICES": "2", "ROCR_VISIBLE_DEVICES": "2"}
    ),
}
NOTES = {
    "torch is not installed": HEALTHY._replace(packages=without("torch"), torch=None),
    "no such card is seen": HEALTHY._replace(packages=ROCM),
    "torch is built for cpu": ON_ROCM._replace(torch=ON_CPU),
    "JAX_PLATFORMS=cpu hides the card": ON_CUDA._replace(jax=ON_CPU, variables={"JAX_PLATFORMS": "cpu"}),
    "command buffers (HIP graphs) are on": ON_ROCM._replace(variables={"JAX_PLATFORMS": "rocm"}),
    "turns command buffers off": ON_CUDA._replace(variables={"XLA_FLAGS": doctor.COMMAND_BUFFERS}),
    "JAX computes in 64 bits": HEALTHY._replace(jax=ON_CPU._replace(x64=True)),
}


@pytest.mark.parametrize(("said", "given"), [*PROBLEMS.items(), *NOTES.items()])
def test_one_fault_is_one_finding_with_a_remedy(said, given):
    [finding] = doctor.findings(given)
    assert said in finding.text
    assert finding.remedy
    assert finding.note == (said in NOTES)


def test_a_choice_within_a_choice_may_agree():
    both = {"HIP_VISIBLE_DEVICES": "0,1", "ROCR_VISIBLE_DEVICES": "2,5"}
    assert doctor.findings(ON_ROCM._replace(variables=ON_ROCM.variables | both)) == []


def test_a_platform_that_is_not_there_is_named():
    given = HEALTHY._replace(jax=Framework(fault="no rocm"), variables={"JAX_PLATFORMS": "rocm"})
    [finding] = doctor.findings(given)
    assert "JAX_PLATFORMS=rocm" in finding.remedy


def test_the_page_shows_facts_and_remedies():
    given = ON_ROCM._replace(torch=None, packages=without("torch", ROCM), variables={"CI": "1"})
    text = doctor.page(given, doctor.findings(given))
    for said in ("jax-rocm7-pjrt    0.10.2", "jax is on         rocm (AMD Instinct MI300X)", "jax_enable_x64    off"):
        assert said in text
    assert "\n  remedy: set JAX_PLATFORMS=rocm: " in text
    assert text.endswith("problems: 1, notes: 2")


@pytest.mark.parametrize(("given", "status"), [(HEALTHY, 0), (PROBLEMS["JAX_PLATFORMS=gpu"], 1)])
def test_the_status_tells(given, status, monkeypatch, capsys):
    monkeypatch.setattr(doctor, "gather", lambda: given)
    parser = argparse.ArgumentParser()
    doctor.add_parser(parser.add_subparsers())
    options = parser.parse_args(["doctor"])
    assert options.run(options) == status
    assert f"problems: {status}" in capsys.readouterr().out


def test_what_is_gathered_here_is_healthy(monkeypatch):
    for name in ("CI", "JAX_PLATFORMS", "XLA_FLAGS", "JAX_ENABLE_X64"):
        monkeypatch.delenv(name, raising=False)
    found = facts.gather()
    assert found.packages.keys() >= {"jax", "jaxlib", "numpy"}
    assert found.jax is not None
    assert (found.jax.fault, found.jax.x64) == ("", False)


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("import sys; print('chatter'); sys.exit('RuntimeError: no backend')", "RuntimeError: no backend"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "the process died of SIGSEGV"),
        ("import sys; sys.exit(3)", "the process ended with status 3"),
        ("import time; time.sleep(60)", "no answer in 1 s"),
    ],
)
def test_a_framework_may_take_its_process_down(code, fault, monkeypatch):
    call = subprocess.run
    monkeypatch.setattr(facts, "LONGEST", 1)
    monkeypatch.setattr(facts.subprocess, "run", lambda _, **options: call([sys.executable, "-c", code], **options))
    monkeypatch.setattr(facts.probe, "version_of", lambda name: "1.0" if name == "jax" else None)
    assert facts.gather().jax == Framework(fault=fault)
