"""Where an image comes from: a folder in OCI's layout, a file of `docker save`, a registry; and which images a Dockerfile names."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tracebench_terminalbench.oci.mapped import MappedError

HUB = "docker.io"
_LOOPBACK = re.compile(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$")
_FROM = re.compile(r"FROM\s+(?:--platform=\S+\s+)?(\S+)(?:\s+AS\s+(\S+))?", re.IGNORECASE)
_FLAGS = re.compile(r"(?:COPY|ADD|RUN)((?:\s+--\S+)+)", re.IGNORECASE)
_FLAG_FROM = re.compile(r"(?:--|--mount=|,)from=([^\s,]+)")
_HEREDOC = re.compile(r"(?:COPY|ADD|RUN)\s.*<<-?([\"']?)(\w+)\1", re.IGNORECASE)
_ARG = re.compile(r"ARG\s+(\w+)=(\S+)", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{?(\w+)(?::-([^}]*))?\}?")


class Source(NamedTuple):
    """An image as skopeo names it, and what has to be said with it."""

    name: str
    flags: tuple[str, ...] = ()


def full_name(reference: str) -> str:
    """Return an image's whole name: `debian` is `docker.io/library/debian:latest`."""
    first, slash, _ = reference.partition("/")
    if not slash:
        reference = f"{HUB}/library/{reference}"
    elif "." not in first and ":" not in first and first != "localhost":
        reference = f"{HUB}/{reference}"
    last = reference.rpartition("/")[2]
    return reference if ":" in last or "@" in last else f"{reference}:latest"


def find_source(reference: str, *, images: Mapping[str, str], registry: str | None) -> Source:
    """Return where an image is: as `images` says for its name, short or whole, else in the registry, else where its name says.

    Raises:
        MappedError: when a place in `images` holds no image.
    """
    for name, place in images.items():
        if full_name(name) == full_name(reference):
            return _place(place)
    whole = full_name(reference)
    host = whole.partition("/")[0]
    if registry is not None:
        host, whole = registry, f"{registry}/{whole.removeprefix(f'{host}/')}"
    return Source(f"docker://{whole}", ("--tls-verify=false",) if _LOOPBACK.match(host) else ())


def references(dockerfile: str) -> dict[str, str]:
    """Return the images that a Dockerfile starts or copies from, as it writes them, with their names; its own stages are not among them."""
    lines = [raw.strip() for raw in re.sub(r"\\\n", " ", dockerfile).splitlines()]
    values: dict[str, str] = {}
    stages: set[str] = {"scratch"}
    found: dict[str, str] = {}
    end = 0
    for number, line in enumerate(lines):
        if number < end:  # of a text that a step is given
            continue
        if (text := _HEREDOC.match(line)) and text[2] in lines[number:]:
            end = lines.index(text[2], number)
        if named := _ARG.match(line):
            values.setdefault(named[1], named[2].strip("\"'"))
        image, flags = _FROM.match(line), _FLAGS.match(line)
        for written in [image[1]] if image else _FLAG_FROM.findall(flags[1]) if flags else []:
            name = _filled(written, values)
            if not written.isdigit() and name.lower() not in stages:
                found[written] = name
        if image and image[2]:
            stages.add(image[2].lower())
    return found


def _filled(name: str, values: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: values.get(found[1], found[2] or ""), name)


def split_place(written: str) -> tuple[str, str]:
    """Return the path of a place and its tag, which is empty where none is written."""
    path, _, tag = written.rpartition(":")
    return (written, "") if not path or Path(written).expanduser().exists() else (path, tag)


def _place(written: str) -> Source:
    path, tag = split_place(written)
    place = Path(path).expanduser().absolute()
    if not place.exists() and re.match(r"[a-z-]+:", written):  # as skopeo names it
        return Source(written)
    if (place / "oci-layout").is_file():
        return Source(f"oci:{place}" + (f":{tag}" if tag else ""))
    if place.is_file() and tarfile.is_tarfile(place):
        with tarfile.open(place) as archive:
            kind = "oci-archive" if "oci-layout" in archive.getnames() else "docker-archive"
        return Source(f"{kind}:{place}" + (f":{tag}" if tag else ""))
    raise MappedError(f"`{written}` is no image: neither a folder in OCI's layout nor a file of `docker save`")
