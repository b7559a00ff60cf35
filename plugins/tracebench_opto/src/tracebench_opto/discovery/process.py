"""Run one of this package's programs in a process of its own, with a deadline that holds for all that it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tracebench_engine.api.programs import scratch_folder
from tracebench_opto.discovery.lifeline import NAME

_SECRET_ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


class ProgramFailed(Exception):  # noqa: N818 - says what happened
    """The program left no answer; the text says why, in a few words."""


class TookTooLong(ProgramFailed):
    """The program was killed at its deadline, which says as much of the machine's load as of the program."""


def run(module: str, *arguments: str, seconds: float, opto: Path | None = None) -> str:
    """Run `python -m module arguments… answer-file` in an empty folder, without secrets; return what it wrote to the file.

    Args:
        module: of this package.
        arguments: before the name of the answer file.
        seconds: until it is killed, with everything that it started; so it is when this process ends, however it does.
        opto: a package folder to take for opto; the installed one when None.

    Raises:
        TookTooLong: when it did.
        ProgramFailed: when it ended without an answer.
    """
    with scratch_folder("opto") as folder, _Lifeline() as lifeline:
        answer, errors = folder / "answer", folder / "errors"
        with errors.open("wb") as stderr:
            process = subprocess.Popen(  # noqa: S603 - our own module, by this interpreter
                [sys.executable, "-P", "-m", module, *arguments, str(answer)],
                cwd=folder,
                env=_environment(opto) | {NAME: str(lifeline)},
                pass_fds=(lifeline,),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )
            try:
                code = process.wait(timeout=seconds)
            except subprocess.TimeoutExpired as err:
                raise TookTooLong(f"took longer than {seconds:g} s") from err
            finally:
                _end(process)
        if answer.is_file():
            return answer.read_text(encoding="utf-8")
        last = errors.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
        raise ProgramFailed(f"ended with code {code}: {last[:200]}".rstrip(": "))


class _Lifeline:
    """A pipe: the program gets the end that is read, and the other closes with this process at the latest."""

    def __enter__(self) -> int:
        self._read, self._write = os.pipe()
        return self._read

    def __exit__(self, *_: object) -> None:
        os.close(self._read)
        os.close(self._write)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()


def _environment(opto: Path | None) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.upper().endswith(_SECRET_ENDINGS)}
    if opto is not None:
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(opto.parent), env.get("PYTHONPATH", "")]))
    return env
