"""Releases and their secrets: a commitment is published first, the secret afterwards, and every field is drawn from it.

The release `open` has a secret that everybody knows: fields to make trainers with. That of any other stands in `releases.json` once it has
been given away; until then it is a file `<release>.secret` in the folder that `TRACEBENCH_FIELDS_SECRETS` names.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from functools import cache
from importlib.resources import files
from pathlib import Path

from tracebench_core.errors import UsageError
from tracebench_core.ids import did_you_mean

OPEN = "open"
FOLDER = "TRACEBENCH_FIELDS_SECRETS"
_OPEN_SECRET = hashlib.sha256(b"trace-bench fields: open").hexdigest()


@cache
def known() -> dict[str, dict[str, str | None]]:
    """Return what is published of each release: its `commitment`, and its `secret` or None."""
    found: dict[str, dict[str, str | None]] = json.loads(
        files(__package__).joinpath("releases.json").read_text("utf-8")
    )
    return found


def commitment_of(secret: str) -> str:
    """Return the SHA-256 of a secret, in hex: what is published before anything is run with it."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_secret() -> str:
    """Draw a secret: 256 bits, in hex."""
    return secrets.token_hex(32)


def secret_of(release: str) -> str:
    """Return the secret of a release.

    Raises:
        UsageError: there is no such release, its secret is not here, or what is here is not what was committed to.
    """
    if release == OPEN:
        return _OPEN_SECRET
    published = known().get(release, {})
    secret = published.get("secret") or _from_file(release)
    if secret is None:
        where = f"no file `{release}.secret` in the folder that `{FOLDER}` names"
        what = "has not been given away" if published else "is none that is published"
        meant = "" if published else did_you_mean(release, [OPEN, *known()])
        raise UsageError(
            f"The secret of release `{release}` {what}, and there is {where}.{meant}", hint=f"export {FOLDER}=FOLDER"
        )
    committed = published.get("commitment")
    if committed and not hmac.compare_digest(committed, commitment_of(secret)):
        raise UsageError(
            f"The secret of release `{release}` that is here is not the one that was committed to, {committed}."
        )
    return secret


def _from_file(release: str) -> str | None:
    folder = os.environ.get(FOLDER)
    if not folder or Path(release).name != release:
        return None
    path = Path(folder).expanduser() / f"{release}.secret"
    try:
        return path.read_text("ascii").strip() or None
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as err:
        raise UsageError(f"`{path}` cannot be read: {err}") from err
