"""Reads the samples that lm-evaluation-harness writes with `--log_samples`: `samples_TASK_TIME.jsonl`, or a model's folder of them.

Shape: `lm_eval.result_schema.SampleResult`, a line for each question and filter. A metric is named `metric,filter`, as in its results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracebench_analysis.logs.rows import Log, Row, cluster_of, finite, listed, parsed, reason, regular_file
from tracebench_core.errors import UsageError, quoted

NAMED = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.jsonl")
FIXED = frozenset({
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash", "target_hash",
})  # fmt: skip
"""Fields of a line that are no metric, for versions that do not list the metrics."""
LONGEST = 64 * 2**20
"""Bytes of one line, and of a results file."""
_HINT = "lm_eval --model MODEL --tasks TASK --log_samples --output_path out"


def read_lm_eval(path: Path, *, cluster: str | None = None) -> Log:
    """Read the samples of one model: a file, or a folder with one file a task.

    Args:
        path: file, or folder; `--output_path` itself will do, in which the harness makes a folder for the model.
        cluster: field of the document (`doc`) that names the cluster a question belongs to.

    Raises:
        UsageError: it cannot be read, is something else, has no lines, or two files of a folder are of one task.
    """
    try:
        beside, below = ([f for f in path.glob(where) if NAMED.fullmatch(f.name)] for where in ("*", "*/*"))
        files = sorted(beside or below) if path.is_dir() else None
    except (OSError, ValueError) as err:
        raise UsageError(f"`{path}` cannot be read: {reason(err)}.", hint=_HINT) from err
    if files is None:
        return _read_file(path, cluster)
    if not files:
        raise UsageError(f"`{path}` has no file `samples_TASK_TIME.jsonl`.", hint=_HINT)
    logs = [_read_file(file, cluster) for file in files]
    by_task: dict[frozenset[str], Path] = {}
    for log in logs:
        if (first := by_task.setdefault(log.tasks, log.path)) != log.path:
            raise UsageError(
                f"`{path}` has task {listed([*log.tasks])} twice: `{first.name}` and `{log.path.name}`.",
                hint=f"trace-bench compare --lm-eval {quoted(log.path)} OTHER",
            )
    return Log(
        path,
        logs[0].label if logs[0].label != logs[0].path.stem else path.name,
        [row for log in logs for row in log.rows],
        frozenset().union(*by_task),
        lower_is_better=frozenset().union(*(log.lower_is_better for log in logs)),
        remarks=tuple(remark for log in logs for remark in log.remarks),
    )


def _read_file(path: Path, cluster: str | None) -> Log:
    named = NAMED.fullmatch(path.name)
    task = named["task"] if named else ""
    rows: dict[str, Row] = {}
    for number, line in _lines(path):
        row, column = _row(line, task, cluster, f"`{path}`, line {number},")
        before = rows.get(row.question)
        if before is not None and set(before.scores) & set(row.scores):
            raise UsageError(
                f"`{path}`, line {number}: question `{row.question}` stands twice for filter `{column}`: two runs in one file?",
                hint=_HINT,
            )
        rows[row.question] = row if before is None else replace(before, scores={**before.scores, **row.scores})
    if not rows:
        raise UsageError(f"`{path}` holds no samples.", hint=_HINT)
    label, lower, remarks = _beside(path, task, named["time"] if named else None)
    scored = {name for row in rows.values() for name in row.scores}
    lower_is_better = frozenset(name for name in scored if name.partition(",")[0] in lower)
    return Log(path, label, [*rows.values()], frozenset({task} if task else ()), None, lower_is_better, remarks)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    with regular_file(path).open("rb") as file:
        while raw := file.readline(LONGEST + 1):
            number += 1
            where = f"`{path}`, line {number},"
            if number == 1 and raw.startswith(b"PK"):
                raise UsageError(
                    f"`{path}` is a zip, not lines of JSON.", hint=f"trace-bench compare --inspect {quoted(path)} OTHER"
                )
            if len(raw) > LONGEST:
                raise UsageError(f"{where} is longer than {LONGEST // 2**20} MiB.", hint=_HINT)
            if not raw.strip():
                continue
            is_last = not raw.endswith(b"\n")
            whole = path.suffix == ".json"
            cut = "the last line was cut; write the file again: " if is_last and not whole else ""
            found = parsed(
                raw, where, hint=f"name `samples_*.jsonl`, not the results: {_HINT}" if whole else f"{cut}{_HINT}"
            )
            if not isinstance(found, dict) or "doc_id" not in found:
                hint = (
                    f"trace-bench compare --inspect {quoted(path)} OTHER"
                    if isinstance(found, dict) and "eval" in found
                    else _HINT
                )
                raise UsageError(f"{where} is no sample of lm-evaluation-harness: it has no `doc_id`.", hint=hint)
            yield number, found


def _row(line: dict[str, Any], task: str, cluster: str | None, where: str) -> tuple[Row, str]:
    column = str(line.get("filter") or "none")
    listed_ones = line.get("metrics")
    names = (
        listed_ones
        if isinstance(listed_ones, list)
        else [k for k, v in line.items() if k not in FIXED and finite(v) is not None]
    )
    hashes = [line.get("doc_hash"), line.get("target_hash")]
    prompt = line.get("prompt_hash")
    row = Row(
        task=task,
        question=str(line["doc_id"]),
        epoch=1,
        scores={f"{name},{column}": finite(line.get(name)) for name in map(str, names)},
        digest=" ".join(map(str, hashes)) if any(hashes) else None,
        prompt=prompt if isinstance(prompt, str) else None,
        cluster=cluster_of(line.get("doc"), cluster, where),
    )
    return row, column


def _beside(path: Path, task: str, time: str | None) -> tuple[str, frozenset[str], tuple[str, ...]]:
    """Return the model, the metrics of which less is better, and remarks, from the results file of the same run where there is one."""
    results = path.with_name(f"results_{time}.json")
    if time is None or not results.is_file():
        return path.stem, frozenset(), ()
    try:
        found = parsed(regular_file(results, most=LONGEST).read_bytes(), f"`{results}`", hint="")
    except UsageError as err:
        return path.stem, frozenset(), (f"{reason(err)}. So higher is taken for better.",)
    found = found if isinstance(found, dict) else {}
    better = found.get("higher_is_better")
    of_task = better.get(task) if isinstance(better, dict) else None
    lower = (
        frozenset(name for name, is_higher in of_task.items() if is_higher is False)
        if isinstance(of_task, dict)
        else frozenset()
    )
    model = found.get("model_name")
    return (model if isinstance(model, str) and model else path.stem), lower, ()
