"""Puts file and line before mistakes that are found only once a config is compared with what is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tracebench_core.errors import TraceBenchError
from tracebench_engine.config import document
from tracebench_engine.config.canonical import Canonical
from tracebench_engine.config.load import placed
from tracebench_engine.config.overrides import parse_override
from tracebench_engine.config.problems import Problem, dotted


@contextmanager
def placing(path: str | Path, *, overrides: Sequence[str] = ()) -> Iterator[None]:
    """Say of each mistake that leaves the body where in the file (or in which override) its field stands."""
    try:
        yield
    except TraceBenchError as err:
        parts = err.parts or (err,)
        if not any(part.field for part in parts):
            raise
        told = str(err).splitlines()
        lines = [*_lines(parts, Path(path), overrides), *(told[-1:] if told[-1].startswith("…") else ())]
        err.args = ("\n".join(lines),)
        raise


def _lines(parts: Sequence[TraceBenchError], path: Path, overrides: Sequence[str]) -> list[str]:
    source = document.read(path)
    form, changes = Canonical(source.data), [parse_override(text) for text in overrides]
    lines = []
    for part in parts:
        if not part.field:
            lines.append(str(part))
            continue
        problem = placed(Problem(part.field, ""), form, changes)
        line = source.line(problem.loc)
        where = f"`{path}`" if line is None else f"`{path}`, line {line}"
        where = where if problem.override is None else f"`-o {problem.override}`"
        name = dotted(problem.loc)
        words = str(part)
        lines.append(f"{where}: {words}" if f"`{name}" in words else f"{where}: `{name}`: {words}")
    return lines
