"""The report as a page of Markdown, for the summary of a CI job; made from the data, so that it can be made later."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from parity_tests.kit.subjects import ORACLE

Data = dict[str, Any]


def as_markdown(data: Data) -> str:
    """The closing line, what was not compared, the table, the findings with their cases, and the environment."""
    return "\n".join([*_head(data), "", *_table(data), "", *_findings(data), *_foot(data), ""])


def _head(data: Data) -> Iterator[str]:
    yield f"### {'✅' if data['identical'] else '❌'} {data['result']}"
    if not data["faults"]:
        yield "\nArguments that do not fit were left out."
    for name, framework in data["left_out"].items():
        yield f"\n`{name}` was left out: {framework} is not installed."
    for name, operations in data["gaps"].items():
        yield f"\n`{name}` was not compared in {', '.join(f'`{operation}`' for operation in operations)}."


def _table(data: Data) -> Iterator[str]:
    names = [ORACLE.name, *data["implementations"]]
    yield f"| comparisons / differences | random cases | {' | '.join(f'`{name}`' for name in names)} |"
    yield f"|---|--:|{'--:|' * len(names)}"
    for row in data["rows"]:
        counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for tally in row["tallies"]:
            counts[tally["implementation"]][0] += tally["comparisons"]
            counts[tally["implementation"]][1] += tally["differences"]
        cells = [_cell(*counts[name]) if name in counts else "-" for name in names]
        yield f"| {row['name']} | {row['search_cases']:,} | {' | '.join(cells)} |"


def _cell(comparisons: int, differences: int) -> str:
    text = f"{comparisons:,} / {differences:,}"
    return f"**{text}**" if differences else text


def _findings(data: Data) -> Iterator[str]:
    for row in data["rows"]:
        for finding in row["findings"]:
            yield f"- `{finding['implementation']}`, {finding['part']}: {finding['text']}"
            if "case" in finding:
                yield "\n  <details><summary>the case</summary>\n"
                yield f"  ```json\n  {json.dumps(finding['case'], separators=(',', ':'))}\n  ```\n\n  </details>\n"


def _foot(data: Data) -> Iterator[str]:
    environment = data["environment"]
    packages = ", ".join(f"{name} {version}" for name, version in environment["packages"].items())
    yield f"Python {environment['python']} on {environment['machine']}, {packages}; seed {data['seed']}."
    for when, counts in (data["host_reads"] or {}).items():
        yield f"Host reads in one step, {when}: {', '.join(f'{count} `{event}`' for event, count in counts.items())}."
