"""`python -m parity_tests lossless --model smollm2`: a real model in the loop, in every mode, and the recorder."""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from parity_tests.kit import traces
from parity_tests.kit.options import refuse
from parity_tests.lossless.smollm2.lookup import LONGEST
from parity_tests.lossless.smollm2.prompts import prompts_of
from parity_tests.lossless.smollm2.recorder import About, as_json, recording
from parity_tests.lossless.smollm2.vocabulary import decode
from parity_tests.lossless.smollm2.weights import Checkpoint, WeightsError, find, load
from parity_tests.lossless.workload import Request, requests_from

if TYPE_CHECKING:
    from rich.console import Console

    from parity_tests.lossless.smollm2.proof import Proof

DRAFTS = (3,)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that only this model has."""
    parser.add_argument("--weights", type=Path, metavar="FILE", help="SmolLM2 in the GGUF format, if not installed")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write what the ragged run did as a recording")


def run(options: argparse.Namespace) -> int:
    """Run the command; 0 if every mode gives the same tokens, 1 if one does not, 2 if it can't be run."""
    for path in filter(None, (options.json, options.record)):
        path.open("a").close()
    if options.impl:
        return refuse("SmolLM2 runs in JAX, whatever --impl says: leave it out", "lossless")
    known = sum(len(run.outputs) for run in traces.load())
    if options.requests > known:
        return refuse(
            f"--requests: got {options.requests}, expected at most {known}, the questions in the recordings", "lossless"
        )
    try:
        checkpoint = load(options.weights or find())
    except WeightsError as error:
        return refuse(str(error), "lossless")
    return _proved(options, checkpoint)


def _proved(options: argparse.Namespace, checkpoint: Checkpoint) -> int:
    from parity_tests.kit.report import make_console
    from parity_tests.lossless.report import print_report
    from parity_tests.lossless.report_data import Found, Report, as_data, is_identical

    start, console = perf_counter(), make_console()
    requests, recorded = workload(options.requests, options.tokens, options.seed)
    proofs = list(_proofs(options, checkpoint, requests, recorded, console))
    outcomes = [outcome for proof in proofs for outcome in proof.outcomes]
    texts = [
        (decode(checkpoint.tokens, request.prompt), decode(checkpoint.tokens, tokens))
        for request, tokens in zip(requests, proofs[0].plain.tokens, strict=True)
    ]
    found = Found(outcomes, [proof.acceptance for proof in proofs], texts)
    report = Report(checkpoint.name, options.seed, found, {}, perf_counter() - start)
    print_report(console, report)
    for near in (near for proof in proofs for near in proof.near_ties):
        console.print(f"a near tie that the recording decides otherwise: {near}", markup=False, soft_wrap=True)
    if options.json:
        options.json.write_text(json.dumps(as_data(report), indent=1) + "\n")
    if options.record:
        options.record.write_text(as_json(_recording(checkpoint, proofs[0])))
    return int(not is_identical(found))


def _proofs(
    options: argparse.Namespace,
    checkpoint: Checkpoint,
    requests: Sequence[Request],
    recorded: Sequence[Sequence[int]],
    console: "Console",
) -> Iterator["Proof"]:
    """One for each number of drafts that was asked for."""
    from parity_tests.kit.report import progress_on
    from parity_tests.lossless.smollm2.proof import prove
    from parity_tests.lossless.smollm2.target import target

    model = target(checkpoint)
    with progress_on(console) as told:
        for drafts in dict.fromkeys(options.drafts or DRAFTS):
            yield prove(model, checkpoint.shape, requests, recorded, drafts, options.seed, told)


def workload(count: int, tokens: int, seed: int) -> tuple[list[Request], list[list[int]]]:
    """The first prompts of the recorded runs, the larger run first, and what was recorded behind them."""
    runs = sorted(traces.load(), key=lambda run: -len(run.outputs))
    known = [pair for run in runs for pair in zip(prompts_of(run), run.outputs, strict=True)][:count]
    requests = requests_from([prompt for prompt, _ in known], tokens, seed)
    return [request._replace(new_tokens=tokens) for request in requests], [output for _, output in known]


def _recording(checkpoint: Checkpoint, proof: "Proof") -> dict[str, Any]:
    about = About(
        f"{checkpoint.name}, run in float32 by JAX",
        "the GSM8K test questions of the recordings in this package, chat template",
        f"prompt lookup, n-grams {LONGEST} to 1",
        len(checkpoint.tokens),
    )
    return recording(proof.ragged, proof.sizes, about, proof.plain.tokens)
