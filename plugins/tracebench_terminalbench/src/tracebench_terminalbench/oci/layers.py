"""Look through an image before it is unpacked: how large it gets, and what in it cannot be had."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tracebench_terminalbench.oci.mapped import MappedError

MOST_ENTRIES = 2_000_000
_MB = 1 << 20
_SHOWN = 3


class Contents(NamedTuple):
    """What an image holds."""

    bytes: int
    """Of the files of all layers together."""
    devices: tuple[str, ...]
    """Names of its device nodes, which no user namespace may make."""
    config: dict[str, Any]
    """The image's own: `Env`, `WorkingDir`, `User`, …"""


def inspect(layout: Path, *, most_mb: int) -> Contents:
    """Read every layer of the one image in a folder in OCI's layout, at most as far as `most_mb` go.

    Raises:
        MappedError: when it is larger than `most_mb` or than what is free, has too many files, or cannot be read.
    """
    size = entries = 0
    devices: dict[str, None] = {}
    try:
        manifest = _manifest(layout)
        for layer in manifest["layers"]:
            if layer["mediaType"].endswith("zstd"):
                raise MappedError("a layer is packed by zstd, which umoci cannot unpack: push it with gzip")
            for member in _members(_blob(layout, layer)):
                size += member.size if member.isreg() else 0
                entries += 1
                if member.isdev() and not member.isfifo():
                    devices[member.name] = None
                if size > most_mb * _MB or entries > MOST_ENTRIES:
                    raise MappedError(
                        f"the image unpacks to more than {most_mb:,} MB or {MOST_ENTRIES:,} files "
                        "(`image_mb` of `harbor_environment_kwargs`)"
                    )
        config = json.loads(_blob(layout, manifest["config"]).read_bytes()).get("config") or {}
    except (OSError, ValueError, KeyError, TypeError, EOFError, tarfile.TarError) as err:
        raise MappedError(f"the image cannot be unpacked: {type(err).__name__}: {err}") from err
    free = shutil.disk_usage(layout).free
    if size > free:
        raise MappedError(f"the image needs {size // _MB:,} MB, and {layout.anchor} has {free // _MB:,} MB left for it")
    return Contents(size, tuple(devices), config)


def words_of(devices: tuple[str, ...]) -> str:
    """Return what becomes of an image's device nodes, or nothing."""
    if not devices:
        return ""
    shown = ", ".join(devices[:_SHOWN]) + (", …" if len(devices) > _SHOWN else "")
    return f"{len(devices)} device nodes of the image ({shown}) are empty files, and all its files are root's"


def _manifest(layout: Path) -> dict[str, Any]:
    (entry,) = json.loads((layout / "index.json").read_bytes())["manifests"]
    manifest: dict[str, Any] = json.loads(_blob(layout, entry).read_bytes())
    return manifest


def _blob(layout: Path, descriptor: dict[str, Any]) -> Path:
    kind, _, name = descriptor["digest"].partition(":")
    if not (kind.isalnum() and name.isalnum()):
        raise ValueError(f"`{descriptor['digest']}` is no digest")
    return Path(layout, "blobs", str(kind), str(name))


def _members(layer: Path) -> Iterator[tarfile.TarInfo]:
    with tarfile.open(layer, "r|*") as archive:
        yield from archive
