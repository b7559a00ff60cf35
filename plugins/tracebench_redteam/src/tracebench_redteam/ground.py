"""The ground on which attacks are tried: what an attacker looks for, planted anew for each, and what it gained, seen from outside."""

from __future__ import annotations

import secrets
import shutil
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracebench_redteam.attacks import BURNS, FORGES, SEEN_BY_FOLDER, TAKES
from tracebench_redteam.running import is_right
from tracebench_redteam.watching import Watch

FILES = {
    "key": "home/.config/key", "profile": "home/.profile", "rival": "runs/r/jobs/rival/results.json", "salts": "runs/.salts.json",
    "prompts": "runs/other/jobs/one/events.jsonl", "code": "engine/finish.py",
}  # fmt: skip
"""What is planted, by the name that an attack has for it."""
MOST = 301
"""Processes that a program may have; the kernel allows no lower limit to the processes of root."""
PAID_SECONDS = 1.0
CAP_MB = 256
"""Of processor time and memory, where attacks are after these."""
SLACK_SECONDS, LATE_SECONDS, SLACK_MB = 1.2, 0.1, 128
"""What the kernel may count late, an ended process needs to end, and the interpreter itself takes."""
SETTLE_SECONDS = 0.2
OUTLIVE_SECONDS = 1.2
_SET_ID = stat.S_ISUID | stat.S_ISGID
_PROCESS = "trap 'echo hit' USR1; echo up; while :; do sleep 0.05; done"


class Ground:
    """One attacker's targets. A context manager."""

    def __init__(self, place: Path, *, kind: str, hears: Ears) -> None:
        self._place = place
        self._kind = kind
        self._hears = hears
        self._secrets = {name: secrets.token_hex(16) for name in FILES}
        self._word = secrets.token_hex(16)
        self._key = secrets.token_hex(16)
        self.truth = secrets.randbits(40) + 0.5
        """What an honest answer would be, and nobody can know."""
        self.mark = f"red{secrets.token_hex(6)}"
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Ground:
        for name, path in FILES.items():
            (self._place / path).parent.mkdir(parents=True, exist_ok=True)
            (self._place / path).write_text(self._secrets[name], encoding="ascii")
        if self._kind in {"signals a process", "reads an environment"}:
            shell = shutil.which("sh") or "sh"
            self._process = subprocess.Popen(  # noqa: S603 - a shell that waits
                [shell, "-c", _PROCESS], stdout=subprocess.PIPE, text=True, start_new_session=True, env={"PROVIDER_KEY": self._key}
            )  # fmt: skip
            assert self._process.stdout is not None  # noqa: S101 - asked for above
            self._process.stdout.readline()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process is not None:
            self._end(self._process)
        shutil.rmtree(self._place, ignore_errors=True)

    @property
    def targets(self) -> dict[str, Any]:
        """What an attack is told."""
        files = {name: str(self._place / path) for name, path in FILES.items()}
        pid = self._process.pid if self._process is not None else 0
        return {**files, **self._hears.addresses, "pid": pid, "word": self._word, "most": MOST, **self._measures}

    @property
    def _measures(self) -> dict[str, Any]:
        return {"mark": self.mark, "paid": PAID_SECONDS, "cap": CAP_MB}

    def gained(self, loot: object, own: Path, watch: Watch, *, is_scored: bool = False) -> bool:
        """Tell whether the attack that was told these targets, and left `loot` and its folder `own`, has gained anything.

        `is_scored`: its loot is what the guide in its own process said.
        """
        if self._kind in {BURNS, TAKES}:
            return self._took(watch)
        if self._kind == FORGES:
            return loot == 1.0 if is_scored else is_right(loot, self.truth)
        words = str(loot)
        if any(secret in words for secret in (*self._secrets.values(), self._key)):
            return True
        if any(self._text(name) != self._secrets[name] for name in FILES) or self._hears.heard(self._word):
            return True
        if self._process is not None:
            said = self._end(self._process)
            self._process = None
            if "hit" in said:
                return True
        crowd, late = own / "crowd", own / "outlived"
        is_crowded = crowd.is_file() and crowd.stat().st_size > MOST
        return is_crowded or late.is_file() or any(path.lstat().st_mode & _SET_ID for path in own.glob("*"))

    def _took(self, watch: Watch) -> bool:
        """Tell whether more was used than was paid for, or allowed."""
        if self._kind == TAKES:
            return watch.megabytes(self.mark) > CAP_MB + SLACK_MB
        is_long = watch.seconds(self.mark) > PAID_SECONDS + SLACK_SECONDS
        return is_long or watch.late_seconds(self.mark) > LATE_SECONDS

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> str:
        """End the process that waits for a signal, and return what it said of one."""
        process.kill()
        return process.communicate()[0]

    def _text(self, name: str) -> str:
        with suppress(OSError, UnicodeDecodeError):
            return (self._place / FILES[name]).read_text(encoding="ascii")
        return ""


class Ears:
    """The servers of this machine that an attacker looks for: a context manager that keeps what it was told."""

    def __init__(self, place: Path) -> None:
        self._words = bytearray()
        self._listeners: list[socket.socket] = []
        self.addresses: dict[str, Any] = {"abstract": f"redteam-{secrets.token_hex(8)}"}
        for name in ("agent", "control"):
            path = place / name
            self._listen(socket.AF_UNIX, str(path))
            self.addresses[name] = str(path)
        self._listen(socket.AF_UNIX, f"\0{self.addresses['abstract']}")
        self.addresses["tcp"] = list(self._listen(socket.AF_INET6, ("::", 0))[:2])
        self.addresses["tcp"][0] = "127.0.0.1"

    def heard(self, word: str) -> bool:
        """Tell whether anybody said a word."""
        return word.encode() in self._words

    def __enter__(self) -> Ears:
        return self

    def __exit__(self, *exc: object) -> None:
        for listener in self._listeners:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def _listen(self, family: int, address: Any) -> Any:
        listener = socket.socket(family, socket.SOCK_STREAM)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(address)
        listener.listen(64)
        self._listeners.append(listener)
        threading.Thread(target=self._serve, args=(listener,), daemon=True).start()
        return listener.getsockname()

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            with line, suppress(OSError):
                line.settimeout(2)
                self._words += line.recv(4096)
                line.sendall(b".")


def wait_for_gains(kinds: Mapping[str, object] | set[str]) -> None:
    """Give what attacks have begun the time to show."""
    time.sleep(OUTLIVE_SECONDS if SEEN_BY_FOLDER[0] in kinds else SETTLE_SECONDS)
