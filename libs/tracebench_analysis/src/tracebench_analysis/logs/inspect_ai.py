"""Reads logs of inspect_ai: `.eval`, a zip with a JSON file a sample, and `.json`. inspect_ai itself is not needed.

Shape: `inspect_ai.log.EvalLog`. Letter grades count as `inspect_ai.scorer.value_to_float` has them.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tracebench_analysis.logs.rows import (
    Log,
    Row,
    cluster_of,
    digest_of,
    finite,
    parsed,
    reason,
    regular_file,
)
from tracebench_core.errors import UsageError, quoted

GRADES = {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""What a word is worth: correct, incorrect, partial, no answer, and the words for true and false."""
CAPITALS = frozenset("CIPN")
"""Grades that only count as they are written."""
MOST = 512 * 2**20
"""Bytes of one JSON document."""
READ = frozenset({0, 8, 93})
"""Stored, deflate and zstd: what can be unpacked in pieces, so that no small file fills the memory."""
MAGIC = b"PK"
_HINT = "trace-bench compare --inspect one.eval other.eval"


def read_inspect(path: Path, *, cluster: str | None = None) -> Log:
    """Read one log.

    Args:
        path: the log, of either kind; what it is is told by its content.
        cluster: field of the samples' metadata that names the cluster a sample belongs to.

    Raises:
        UsageError: it cannot be read, is something else, or has no samples.
    """
    with regular_file(path).open("rb") as file:
        is_zip = file.read(2) == MAGIC
    header, samples = _zipped(path) if is_zip else _plain(path)
    spec = header.get("eval")
    if not isinstance(spec, dict) or not isinstance(spec.get("task"), str):
        raise UsageError(
            f"`{path}` is no log of inspect_ai: it names no `eval` with a `task`.", hint=_hint_for(header, path)
        )
    task = spec["task"]
    rows, invalid = [], 0
    for sample in samples:
        if sample.get("invalidation"):
            invalid += 1
            continue
        rows.append(_row(sample, task, cluster, path))
    if not rows:
        raise UsageError(
            f"`{path}` holds no samples: it was run without logging them, or ended before the first one.",
            hint="inspect eval TASK --model MODEL --log-samples",
        )
    dataset = spec.get("dataset")
    remarks = []
    if (status := header.get("status")) != "success":
        remarks.append(f"`{path.name}` did not end well (status `{status or 'started'}`): it has {len(rows)} rows.")
    if invalid:
        remarks.append(f"`{path.name}`: {invalid} invalidated rows are left out.")
    named = dataset.get("name") if isinstance(dataset, dict) else None
    model = spec.get("model")
    label = model if isinstance(model, str) and model else path.stem
    return Log(path, label, rows, frozenset({task}), named if isinstance(named, str) else None, remarks=tuple(remarks))


def _row(sample: dict[str, Any], task: str, cluster: str | None, path: Path) -> Row:
    if not isinstance(sample.get("id"), str | int) or "input" not in sample:
        raise UsageError(f"`{path}` has a sample without `id` or `input`.", hint=_HINT)
    where = f"`{path}`, sample `{sample['id']}`,"
    scores: dict[str, float | None] = {}
    graded = sample.get("scores")
    for scorer, score in graded.items() if isinstance(graded, dict) else ():
        value = score.get("value") if isinstance(score, dict) else None
        parts = (
            value
            if isinstance(value, dict)
            else {str(i): v for i, v in enumerate(value)}
            if isinstance(value, list)
            else None
        )
        if parts is None:
            scores[str(scorer)] = worth(value)
        else:
            scores.update({f"{scorer}/{name}": worth(part) for name, part in parts.items()})
    epoch = sample.get("epoch", 1)
    return Row(
        task=task,
        question=str(sample["id"]),
        epoch=epoch if isinstance(epoch, int) else 1,
        scores=scores,
        digest=_asked(sample),
        cluster=cluster_of(sample.get("metadata"), cluster, where),
        is_failed=bool(sample.get("error")),
    )


def worth(value: object) -> float | None:
    """Return the number that a score's value stands for; None where it stands for none, which inspect_ai would count as 0."""
    if not isinstance(value, str):
        return finite(value)
    if value in CAPITALS or (len(value) > 1 and value.lower() in GRADES):
        return GRADES[value.lower()]
    try:
        return finite(float(value))
    except ValueError:
        return None


def _asked(sample: dict[str, Any]) -> str:
    """Return the digest of a sample's question; the order of its choices, which may be shuffled, and ids of messages do not count."""
    asked, choices = sample["input"], sample.get("choices")
    if isinstance(asked, list):
        asked = [[m.get("role"), m.get("content")] if isinstance(m, dict) else m for m in asked]
    return digest_of([asked, sorted(map(str, choices))] if isinstance(choices, list) else [asked, sample.get("target")])


def _plain(path: Path) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    regular_file(path, most=MOST, hint=f"inspect log convert {path} --to eval --output-dir logs")
    found = parsed(path.read_bytes(), f"`{path}`", hint=_hint_for(None, path))
    if not isinstance(found, dict):
        raise UsageError(f"`{path}` is no log of inspect_ai.", hint=_hint_for(None, path))
    samples = found.get("samples")
    return found, iter([s for s in samples if isinstance(s, dict)] if isinstance(samples, list) else [])


def _zipped(path: Path) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    """Return a zip's header and its samples, each read when it is asked for."""
    archive = _Archive(path)
    for name in ("header.json", "_journal/start.json"):  # the latter is all there is of a log that was cut short
        if name in archive.names:
            return archive.member(name), archive.samples()
    raise UsageError(f"`{path}` is a zip, but no log of inspect_ai: it has no `header.json`.", hint=_HINT)


class _Archive:
    """A zip of JSON documents."""

    def __init__(self, path: Path) -> None:
        library, self._errors = _zip_library()
        self._path = path
        try:
            self._archive = library.ZipFile(path)
        except self._errors as err:
            raise self._damaged(err) from err
        self.names: dict[str, Any] = self._archive.NameToInfo

    def samples(self) -> Iterator[dict[str, Any]]:
        """Yield the samples: `samples/NAME.json`, or `samples/NAME/sample.json` with its metadata beside it."""
        for name in self.names:
            folder, _, rest = name.partition("/")
            if folder != "samples" or ("/" in rest and not rest.endswith("/sample.json")) or not rest.endswith(".json"):
                continue
            sample = self.member(name)
            beside = name.removesuffix("sample.json") + "metadata.json"
            if beside in self.names and "metadata" not in sample:
                sample["metadata"] = self.member(beside)
            yield sample

    def member(self, name: str) -> dict[str, Any]:
        """Return one document.

        Raises:
            UsageError: it cannot be unpacked, or is no JSON object.
        """
        where = f"`{self._path}`: `{name}`"
        if self.names[name].compress_type not in READ:
            raise UsageError(f"{where} is compressed as inspect_ai compresses no log.", hint=_HINT)
        if self.names[name].file_size > MOST:
            raise UsageError(f"{where} unpacks to more than {MOST // 2**20} MiB.", hint=_HINT)
        try:
            with self._archive.open(name) as file:
                text = file.read(MOST + 1)  # the size that is told may be another
            if len(text) > MOST:
                raise UsageError(f"{where} unpacks to more than {MOST // 2**20} MiB.", hint=_HINT)
        except NotImplementedError as err:
            raise UsageError(
                f"`{self._path}` is compressed in a way that this Python cannot read: {reason(err)}.",
                hint='pip install "tracebench-engine[inspect]"',
            ) from err
        except self._errors as err:
            raise self._damaged(err) from err
        found = parsed(text, where, hint=_HINT)
        if not isinstance(found, dict):
            raise UsageError(f"{where} is no JSON object.", hint=_HINT)
        return found

    def _damaged(self, err: Exception) -> UsageError:
        told = f"`{self._path}` is damaged, or was cut while it was copied: {reason(err)}."
        return UsageError(told, hint=f"python -m zipfile -t {quoted(self._path)}")


def _zip_library() -> tuple[Any, tuple[type[Exception], ...]]:
    """Return the module that opens zips, one that knows zstd where there is one, and what it raises at damage."""
    import zipfile  # noqa: PLC0415 - few comparisons open one

    known: tuple[type[Exception], ...] = (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        RuntimeError,
        KeyError,
        ValueError,
    )
    is_own = sys.version_info >= (3, 14)
    try:
        zstd = import_module("compression.zstd" if is_own else "backports.zstd")
        library = zipfile if is_own else import_module("backports.zstd.zipfile")
    except ImportError:
        return zipfile, known
    return library, (*known, library.BadZipFile, zstd.ZstdError)


def _hint_for(found: object, path: Path) -> str:
    """Return the command for a file that may be of the other kind."""
    other = path.suffix == ".jsonl" or (isinstance(found, dict) and "config" in found and "results" in found)
    return "trace-bench compare --lm-eval samples_one.jsonl samples_other.jsonl" if other else _HINT
