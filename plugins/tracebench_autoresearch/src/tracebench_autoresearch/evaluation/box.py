"""One command in a fresh box of the sandbox, and the files that it was asked to leave."""

from __future__ import annotations

import base64
import binascii
import io
import math
import secrets
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tracebench_autoresearch.evaluation.graphics import Graphics
from tracebench_autoresearch.experiment import Command
from tracebench_autoresearch.sources.snapshot import Entry, Snapshot
from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_core.errors import MissingRequirementError
from tracebench_core.specs import Limits

OUTPUT_BYTES = 4 << 20
"""Of each stream, kept from its end."""
_ARCHIVE = ".files.tar.b64"
_NOT_STARTED = 127
_NO_LIMIT_MB = 1 << 26
"""64 TiB, half of what a process can address."""
_PATH = "/usr/local/bin:/usr/bin:/bin"
_SCRIPT = f"""\
if [ -f {_ARCHIVE} ]; then base64 -d {_ARCHIVE} | tar -x || exit 126; rm {_ARCHIVE}; fi
mark=$1; count=$2; shift 2
printf '%s begun\n' "$mark"
i=0; while [ $i -lt $count ]; do eval "out_$i=\\$1"; shift; i=$((i + 1)); done
"$@"; code=$?
i=0; while [ $i -lt $count ]; do
  eval "name=\\$out_$i"
  if [ -f "$name" ] && [ ! -L "$name" ]; then printf '\\n%s %s\\n' "$mark" "$i"; base64 "$name"; fi
  i=$((i + 1))
done
exit $code
"""
"""Unpack what is no plain text, say so, run the command, print the files that are asked for after the mark."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    end: Literal["ended", "late", "killed"]
    code: int | None
    stdout: str
    stderr: str
    outputs: dict[str, bytes]
    seconds: float
    why: str = ""
    """Of one that was killed: the sandbox's words."""
    cpu_seconds: float | None = None
    """Of all that ran in the box, counted from outside; None where that cannot be told."""


def filled(command: Command, seed: int, python: Path | None) -> list[str]:
    """Return the words of a command with the seed and the interpreter in their places; this one where the experiment has none."""
    argv = [word.replace("{seed}", str(seed)) for word in command.command]
    return [str(python or sys.executable), *argv[1:]] if argv[0] == "python" else argv


def variables(command: Command, seed: int, python: Path | None, *, path: str = "") -> dict[str, str]:
    """Return what every command finds in its environment; the interpreter and what lies beside it come first on its path."""
    return {
        "PATH": f"{(python or Path(sys.executable)).parent}:{path or _PATH}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": str(math.ceil(command.cpus)),
        "EXPERIMENT_SEED": str(seed),
    }


def run_in_box(
    sandbox: Sandbox,
    command: Command,
    files: Snapshot,
    *,
    stdin: str,
    seed: int,
    seconds: float,
    python: Path | None = None,
    graphics: Graphics = Graphics(),  # noqa: B008 - immutable
) -> Ran:
    """Run a command on `files`, with the experiment's interpreter if it has one. The box is gone when it returns.

    Raises:
        NotMeasured: when the box could not take the files, as on a full disk, or a device is not there.
    """
    mark = secrets.token_hex(16)
    environ = (f"{name}={text}" for name, text in (*variables(command, seed, python).items(), *graphics.environ))
    wanted = (str(len(command.outputs)), *command.outputs)
    memory = command.most_memory_mb or _NO_LIMIT_MB
    try:
        outcome = sandbox.command(
            ("/bin/sh", "-c", _SCRIPT, "sh", mark, *wanted, "/usr/bin/env", *environ, *filled(command, seed, python)),
            files=_as_texts(files.entries),
            stdin=stdin,
            limits=Limits(seconds=seconds, patience=1, memory_mb=memory, output_bytes=OUTPUT_BYTES, file_mb=64),
            devices=(*command.devices, *graphics.devices),
        )
    except MissingRequirementError as err:  # a device, or what holds the box
        raise NotMeasured(str(err), retry=False) from err
    value = outcome.value or {}
    printed, begun = value.get("stdout", ""), f"{mark} begun\n"
    if outcome.status == "ok" and begun not in printed and len(printed) < OUTPUT_BYTES // 4:
        raise NotMeasured(f"the box could not take the experiment's files: {value.get('stderr', '').strip()}")
    stdout, outputs = _split(printed.replace(begun, "", 1), mark, command.outputs)
    end: Literal["ended", "late", "killed"] = "ended"
    if outcome.status == "timeout":
        end = "late"
    elif outcome.status != "ok":
        end = "killed"
    return Ran(
        end,
        value.get("returncode"),
        stdout,
        value.get("stderr", ""),
        outputs,
        outcome.seconds,
        outcome.error,
        outcome.cpu_seconds,
    )


def _as_texts(entries: Mapping[str, Entry]) -> dict[str, str]:
    """Return the files as the sandbox takes them: texts, and one archive of everything else."""
    texts = {path: words for path, entry in entries.items() if (words := entry.text) is not None}
    others = {path: entry for path, entry in entries.items() if path not in texts}
    return texts | ({_ARCHIVE: _archive(others)} if others else {})


def _archive(entries: Mapping[str, Entry]) -> str:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, entry in entries.items():
            info = tarfile.TarInfo(path)
            if entry.mode == "120000":
                info.type, info.linkname = tarfile.SYMTYPE, entry.data.decode(errors="replace")
                archive.addfile(info)
                continue
            info.size = len(entry.data)
            info.mode = int(entry.mode[-3:], 8)
            archive.addfile(info, io.BytesIO(entry.data))
    return base64.encodebytes(buffer.getvalue()).decode()


def _split(stdout: str, mark: str, names: tuple[str, ...]) -> tuple[str, dict[str, bytes]]:
    """Part what the command printed from the files after it."""
    said, *rest = stdout.split(f"\n{mark} ")
    found = {}
    for part in rest:
        number, _, encoded = part.partition("\n")
        try:
            found[names[int(number)]] = base64.b64decode(encoded)
        except (ValueError, IndexError, binascii.Error):
            continue
    return said, found
