"""The keys of journals, and how far each had come when this user last closed it: outside of the runs, where no cage can see them.

They lie in `$XDG_STATE_HOME/trace-bench/journals`, readable by their owner alone. A run without its key is read and continued as well.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.regular import read_whole
from tracebench_runs.storage.sharing import PRIVATE_FILE, PRIVATE_FOLDER

log = logging.getLogger(__name__)

_BYTES = 32
_ID = re.compile(r"[0-9a-f]{32}")
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def state_folder() -> Path:
    """Return this user's folder for what outlives runs: `trace-bench` in `$XDG_STATE_HOME`, else in `~/.local/state`."""
    given = os.environ.get("XDG_STATE_HOME", "")
    state = given if os.path.isabs(given) else os.path.expanduser("~/.local/state")  # noqa: PTH111, PTH117 - `~` stays where there is no home
    return Path(state) / "trace-bench"


def key_folder() -> Path:
    """Return where the keys lie, whether or not there are any."""
    return state_folder() / "journals"


class Key(NamedTuple):
    """What keys the lines of a journal."""

    id: str
    """The beginning of its SHA-256: it tells nothing of the key."""
    secret: bytes


def draw_key() -> Key:
    """Draw a key and keep it for whoever continues the run; where it cannot be kept, that is told, and the journal is keyed as well."""
    secret = secrets.token_bytes(_BYTES)
    key = Key(_id_of(secret), secret)
    try:
        _write(key_file(key.id), secret.hex())
    except OSError as err:
        log.warning(
            "the key of the journal cannot be kept in `%s` (%s): only its head says later whether it was changed",
            key_folder(),
            err.strerror,
        )
    return key


def find_key(id_: str) -> Key | None:
    """Return the key of an id; None when this user has none."""
    if _ID.fullmatch(id_) is None:
        return None
    try:
        secret = bytes.fromhex(read_whole(key_file(id_)).decode("ascii"))
    except (OSError, ValueError):
        return None
    return Key(id_, secret) if _id_of(secret) == id_ else None


class Seen(NamedTuple):
    """How far a journal had come when it was last closed here."""

    run_id: str
    n: int
    head: str
    """Digest of that line."""
    keys: tuple[str, ...]
    """Ids of all keys that its lines were written with."""


def last_seen(layout: RunLayout, name: str) -> Seen | None:
    """Return how far a journal of the run that lies here had come; None where nothing is known of it."""
    try:
        told = json.loads(read_whole(_seen_file(layout, name)))
        seen = Seen(str(told["run_id"]), int(told["n"]), str(told["head"]), tuple(map(str, told["keys"])))
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return seen if seen.run_id == layout.run_id else None  # another run lies here now


def see(layout: RunLayout, name: str, *, n: int, head: str, keys: tuple[str, ...]) -> None:
    """Keep how far a journal has come; without effect where nothing can be kept."""
    seen = Seen(layout.run_id, n, head, keys)
    with suppress(OSError):
        _write(_seen_file(layout, name), json.dumps(seen._asdict()), durable=False)


def forget(layout: RunLayout, name: str) -> None:
    """Keep nothing of a journal that lay here before: another run begins in its place. Without effect where nothing can be removed."""
    with suppress(OSError):
        _seen_file(layout, name).unlink()


def _id_of(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()[:32]


def key_file(id_: str) -> Path:
    """Return where the key of an id lies, whether or not it is there."""
    return key_folder() / f"{id_}.key"


def _seen_file(layout: RunLayout, name: str) -> Path:
    place = os.fsencode(layout.path.resolve() / name)
    return key_folder() / f"{hashlib.sha256(place).hexdigest()[:32]}.json"


def _write(path: Path, text: str, *, durable: bool = True) -> None:
    """Put a text under a name, whole or not at all, readable by its owner alone."""
    if not path.is_absolute():  # there is no home
        raise FileNotFoundError(2, "there is no home folder", str(path))
    path.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    path.parent.chmod(PRIVATE_FOLDER)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    fd = os.open(temporary, _FLAGS, PRIVATE_FILE)
    try:
        with os.fdopen(fd, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
