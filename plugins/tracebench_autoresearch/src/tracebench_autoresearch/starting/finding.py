"""Guess from a repository's files what is run and edited, and from what it prints which number counts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tracebench_autoresearch.sources.snapshot import Snapshot
from tracebench_core.errors import UsageError

Direction = Literal["maximize", "minimize"]
_RUN = ("train.py", "main.py", "run.py", "experiment.py", "solve.py", "benchmark.py")
_MEASURES = re.compile(r"(^|/)(eval\w*|prepare|score\w*|metric\w*|test_\w+|\w+_test)\.py$")
_ENVIRONMENTS = ("uv.lock", "requirements.txt", "environment.yml", "environment.yaml")
_NUMBER = re.compile(r"^\s*(\w[\w.-]*)\s*[:=]\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\b", re.MULTILINE)
_LOW = re.compile(
    r"loss|bpb|bpc|error|perplexity|ppl|rmse|mse|mae|seconds|latency|nll|regret|distance|cost", re.IGNORECASE
)
_HIGH = re.compile(
    r"acc|score|auc|f1|r2|bleu|rouge|reward|return|recall|precision|speedup|throughput|rate", re.IGNORECASE
)
_HELD_OUT = re.compile(r"val|test|dev|held", re.IGNORECASE)
_BESIDE = re.compile(
    r"^(epoch|step|iter|seed|exit_code|run_seconds|lr|(learning|dropout|sampling)_rate|\w*memory\w*|\w*params?)$",
    re.IGNORECASE,
)
_EFFORT = re.compile(r"seconds|time|latency|throughput|cost", re.IGNORECASE)
"""What a run takes: printed beside what it achieves, and meant only where nothing else is."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the files say."""

    command: str
    editable: tuple[str, ...]
    shown: tuple[str, ...]
    """Files that seem to measure: never edited, and shown."""
    environment: str


def find_layout(snapshot: Snapshot, *, command: str, editable: Sequence[str], environment: str | None = None) -> Layout:
    """Return the layout; what is given stands above what is guessed.

    Raises:
        UsageError: when no file looks like what is run, or the command has a quote that is not closed.
    """
    try:
        named = [word for word in shlex.split(command) if word in snapshot.texts]
    except ValueError as err:
        raise UsageError(f"`{command}` is no command: {err}.", hint='--command "python my_program.py"') from err
    program = named[0] if named else next((name for name in _RUN if name in snapshot.texts), "")
    if not program and not (command and editable):
        raise UsageError(
            f"No file looks like what is run: there is no text file {', '.join(f'`{name}`' for name in _RUN)}.",
            hint='--command "python my_program.py" --editable my_program.py',
        )
    if not command:
        command = f"python {program}" + (
            " --seed {seed}" if '"--seed"' in snapshot.texts[program].replace("'", '"') else ""
        )
    edited = tuple(editable) or (program,)
    shown = tuple(path for path in sorted(snapshot.texts) if _MEASURES.search(path) and path not in edited)
    if environment is None:
        environment = next((name for name in _ENVIRONMENTS if name in snapshot.texts), "")
    return Layout(command, edited, shown, environment)


def find_metric(printed: str, *, name: str, direction: Direction | None) -> tuple[str, Direction]:
    """Return the number that counts among lines `name: number`, and which way is better.

    Raises:
        UsageError: when there is none, or its name does not tell which way is better.
    """
    found = [match[1] for match in _NUMBER.finditer(printed) if not _BESIDE.match(match[1])]
    if name and name not in found:
        raise UsageError(f"No line `{name}: <number>` was printed. The last lines were:\n{printed}")
    if not found:
        said = f" The last lines were:\n{printed}" if printed.strip() else " Nothing at all was."
        raise UsageError(
            f"No line `name: <number>` was printed, so there is nothing to read.{said}",
            hint="print one; of a file that it writes, say `metric: {name: loss, kind: json, file: result.json}` in an `experiment.yaml` "
            "of your own (docs/reference/autoresearch.md)",
        )
    known = [one for one in found if _LOW.search(one) or _HIGH.search(one)]
    achieved = [one for one in known if not _EFFORT.search(one)]
    held_out = [one for one in achieved if _HELD_OUT.search(one)]
    chosen = name or (held_out or achieved or known or found)[-1]
    if direction is not None:
        return chosen, direction
    if not (_LOW.search(chosen) or _HIGH.search(chosen)):
        raise UsageError(f"`{chosen}` does not tell whether more of it is better.", hint="--direction maximize")
    return chosen, "minimize" if _LOW.search(chosen) else "maximize"
