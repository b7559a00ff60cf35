"""A store of unpacked images: each is fetched by skopeo, built by buildah where there is a Dockerfile, and unpacked by umoci, once."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tracebench_terminalbench.oci.brought import fingerprint, gather
from tracebench_terminalbench.oci.layers import inspect, words_of
from tracebench_terminalbench.oci.mapped import PLACE, MappedError, end_with_parent, hand_over, has_range, run_mapped
from tracebench_terminalbench.oci.sources import find_source, full_name, references

TOOLS = ("skopeo", "umoci", "buildah")
INSTALL = "apt-get install skopeo umoci buildah"
_SAID = re.compile(r'msg="(.*)"$')
"""Where skopeo's words are in a line of its log."""
_TAG = "image"
_WORK = ".trace-bench-work-"
"""What folders begin with that are removed where whoever made them was killed: no other folder is called so."""
_TOLD = "image.json"
_AGENT = "an installed agent"
_OUT = "localhost/task:latest"
_POLICY = '{"default": [{"type": "insecureAcceptAnything"}]}'


class Image(NamedTuple):
    """An unpacked image."""

    root: Path
    """Its files, of the users that `mapped` maps; never written to."""
    config: Mapping[str, Any]
    """The image's own: `Env`, `WorkingDir`, `User`, …"""
    notes: str
    """What could not be had as the image has it, or nothing."""


class Kept(NamedTuple):
    """What a store holds, of which sandboxes are made."""

    key: str
    name: str
    """The image's, the folder of a Dockerfile, or nothing where an earlier version kept it."""
    bytes: int
    """Of its files; 0 where nobody counted."""
    damaged: bool = False
    """What is told of it beside its files cannot be read: it is to be removed, and is prepared again where it is needed."""


class Store:
    """A folder of unpacked images, which processes share.

    Args:
        folder: the store; made where there is none.
        images: places of images by name: a folder in OCI's layout, a file of `docker save`, or skopeo's own name of a place.
        registry: `host:port` that is asked in place of each image's own registry.
        image_mb: megabytes that one image may unpack to.
        network: whether builds have the host's network.
    """

    def __init__(
        self,
        folder: Path,
        *,
        images: Mapping[str, str],
        registry: str | None = None,
        image_mb: int = 20_000,
        network: bool = True,
    ) -> None:
        self._folder, self._images, self._registry = folder, images, registry
        self._most, self._network = image_mb, network

    def image(self, reference: str) -> Image:
        """Return an image by its name.

        Raises:
            MappedError: when it cannot be had, or cannot be unpacked.
        """
        key = self.key_of(reference)
        return self._kept(key, reference, lambda work: self._fetch(reference, work / "layout"))

    def built(self, context: Path) -> Image:
        """Return the image that the Dockerfile of a folder describes; its images are fetched, and it is built only where something changed.

        Raises:
            MappedError: when something it names cannot be had, or a step of it fails; with the words of buildah.
        """
        names = _named(context)
        return self._kept(self.key_of(context), str(context), lambda work: self._build(context, names, work))

    def key_of(self, source: str | Path) -> str:
        """Return the name in this store of an image, or of what the Dockerfile of a folder describes; every place that is named is asked.

        Raises:
            MappedError: when one of them does not have it, or the commands for images are not here.
        """
        self._demand_tools()
        if isinstance(source, str):
            return self._digest(source)[:32]
        bases = {name: self._digest(name) for name in _named(source).values()}
        return hashlib.sha256(json.dumps([bases, _hash_of(source), self._network]).encode()).hexdigest()[:32]

    def holds(self, key: str) -> bool:
        """Tell whether an image is unpacked already."""
        return (self._folder / "roots" / key).exists()

    def kept(self) -> list[Kept]:
        """Return everything that is unpacked here, the newest last."""
        found = []
        for place in sorted((self._folder / "roots").glob("*"), key=lambda path: path.stat().st_mtime):
            words = _told(place) if (place / _TOLD).exists() else {"name": _AGENT}
            told: dict[str, Any] = words or {}
            name, size = told.get("name", ""), told.get("bytes", 0)
            damaged = words is None or not (isinstance(name, str) and isinstance(size, int))
            found.append(Kept(place.name, "", 0, damaged=True) if damaged else Kept(place.name, name, size))
        return found

    def remove(self, key: str) -> bool:
        """Remove what is unpacked of a key, and tell whether it could be: a sandbox that runs on it keeps it."""
        place = self._folder / "roots" / key
        with self._turn(f"lock-{key}"):
            held = _try_hold(place)
            if held is None:
                return False
            _remove(place)
            os.close(held)
        (self._folder / f"lock-{key}").unlink(missing_ok=True)
        return True

    def brought(self, paths: Sequence[str]) -> Path:
        """Return a folder of an installed agent and what runs it, to lie below an image's files; made anew where it was installed anew."""
        self._folder.mkdir(parents=True, exist_ok=True)
        key = fingerprint(paths)[:32]
        place = self._folder / "roots" / key
        with self._turn(f"lock-{key}"):
            if not place.exists():
                with self._work() as work:
                    gather(paths, work / "done/rootfs")
                    (work / "done").rename(place)
        return place / "rootfs"

    def _kept(self, key: str, name: str, make: Callable[[Path], Path]) -> Image:
        """Return the image of a key, made where it is not there; nobody waits for one of another key."""
        place = self._folder / "roots" / key
        with self._turn(f"lock-{key}"):
            if not place.exists():
                self._unpack(place, name, make)
        told = _told(place) or {}
        if not (isinstance(told.get("config"), dict) and isinstance(told.get("notes"), str)):
            raise MappedError(
                f"`{place / _TOLD}` of the image `{name}` is damaged; remove it: trace-bench images remove {key}"
            )
        return Image(place / "rootfs", told["config"], told["notes"])

    def _unpack(self, place: Path, name: str, make: Callable[[Path], Path]) -> None:
        with self._work() as work:
            layout = make(work)
            contents = inspect(layout, most_mb=self._most)
            done = work / "done"
            hand_over(layout)
            done.mkdir()
            hand_over(done)
            faked = ["--rootless"] if contents.devices or not has_range() else []
            run_mapped(
                ["umoci", "raw", "unpack", *faked, "--image", f"{layout.relative_to(work)}:{_TAG}", "done/rootfs"],
                work,
                environ={},
            )
            about = {"name": name, "bytes": contents.bytes}
            told = {"config": contents.config, "notes": words_of(contents.devices), **about}
            (done / _TOLD).write_text(json.dumps(told), encoding="utf-8")
            done.rename(place)

    def _digest(self, reference: str) -> str:
        source = find_source(reference, images=self._images, registry=self._registry)
        raw = _run(["skopeo", "inspect", "--raw", *source.flags, source.name], reference)
        return hashlib.sha256(raw).hexdigest()

    def _fetch(self, reference: str, layout: Path) -> Path:
        source = find_source(reference, images=self._images, registry=self._registry)
        flags = [f"--src{flag[1:]}" for flag in source.flags]
        argv = ["skopeo", "--insecure-policy", "copy", "--quiet", *flags, source.name, f"oci:{layout}:{_TAG}"]
        _run(argv, reference)
        return layout

    def _build(self, context: Path, names: Mapping[str, str], work: Path) -> Path:
        """Build in a storage of its own, as root of a user namespace: a step cannot touch the host."""
        home, copied, out = (work / name for name in ("home", "context", "out"))
        for folder in (home, out):
            folder.mkdir()
        shutil.copytree(context, copied, symlinks=True)
        (home / "policy.json").write_text(_POLICY, encoding="utf-8")
        (home / "registries.conf").write_text('unqualified-search-registries = ["docker.io"]\n', encoding="utf-8")
        for number, name in enumerate(names.values()):
            layout = self._fetch(name, work / f"base-{number}")
            inspect(layout, most_mb=self._most)
            hand_over(layout)
        for folder in (home, copied, out):
            hand_over(folder)
        home = PLACE / "home"
        environ = {
            "HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run"), "_CONTAINERS_USERNS_CONFIGURED": "done",
            "CONTAINERS_REGISTRIES_CONF": str(home / "registries.conf"), "BUILDAH_ISOLATION": "chroot",
            **{name: os.environ[name] for name in ("http_proxy", "https_proxy", "no_proxy") if name in os.environ},
        }  # fmt: skip
        storage = f"[overlay@{home / 'graph'}+{home / 'state'}]"
        contexts = []
        for number, (written, name) in enumerate(names.items()):
            target = f"containers-storage:{storage}{full_name(name)}"
            copy = ["skopeo", "--insecure-policy", "copy", "--quiet", f"oci:base-{number}:{_TAG}", target]
            run_mapped(copy, work, environ=environ)
            contexts += ["--build-context", f"{written}=docker-image://{full_name(name)}"]
        buildah = [
            "buildah",
            "--root",
            str(home / "graph"),
            "--runroot",
            str(home / "state"),
            "--storage-driver",
            "overlay",
        ]
        policy = ["--signature-policy", str(home / "policy.json")]
        build = [*buildah, "build", *policy, "--pull-never", "--network=host", "--layers=false", *contexts]
        run_mapped([*build, "--tag", _OUT, "context"], work, environ=environ, network=self._network)
        push = [*buildah, "push", "--quiet", *policy, "--disable-compression", _OUT, f"oci:out/layout:{_TAG}"]
        run_mapped(push, work, environ=environ)
        return out / "layout"

    def _demand_tools(self) -> None:
        if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
            raise MappedError(f"images need the commands {', '.join(missing)}, which are not here; Debian: {INSTALL}")
        self._folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def _turn(self, name: str) -> Iterator[None]:
        """Hold a lock of the store."""
        with (self._folder / name).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextmanager
    def _work(self) -> Iterator[Path]:
        """Yield an empty folder in the store, which is the caller's alone meanwhile; removed in the end."""
        with self._turn("lock"):
            for left in self._folder.glob(f"{_WORK}*"):
                if (held := _try_hold(left)) is not None:  # of one that was killed
                    _remove(left)
                    os.close(held)
            roots = self._folder / "roots"
            roots.mkdir(exist_ok=True)
            roots.chmod(0o755)  # the root of a sandbox goes through it, whatever the umask is
            work = hand_over(Path(tempfile.mkdtemp(prefix=_WORK, dir=self._folder)))
            held = _try_hold(work)
        work.chmod(0o755)
        try:
            yield work
        finally:
            _remove(work)
            if held is not None:
                os.close(held)


def _told(place: Path) -> dict[str, Any] | None:
    """Return what is told of an image beside its files; None where that is damaged."""
    try:
        told = json.loads((place / _TOLD).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _named(context: Path) -> dict[str, str]:
    return references((context / "Dockerfile").read_text(encoding="utf-8", errors="replace"))


def _try_hold(folder: Path) -> int | None:
    """Lock a folder until what is returned is closed; None where another process has it."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        return None
    return held


def _run(argv: Sequence[str], reference: str) -> bytes:
    done = subprocess.run(argv, capture_output=True, check=False, preexec_fn=end_with_parent)  # noqa: S603 - Debian's own tool
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        words = _SAID.search(said[-1]) if said else None
        told = words[1].replace('\\"', '"') if words else said[-1] if said else "skopeo said nothing"
        raise MappedError(f"the image `{reference}` cannot be had: {told}")
    return done.stdout


def _hash_of(folder: Path) -> str:
    """Return a digest of all files of a folder: no two folders have the same, whatever their files are called and hold."""
    rows = []
    for path in sorted(folder.rglob("*")):
        held = ""
        if path.is_symlink():
            held = os.fsencode(path.readlink()).hex()
        elif path.is_file():
            with path.open("rb") as file:
                held = hashlib.file_digest(file, "sha256").hexdigest()
        rows.append([os.fsencode(path.relative_to(folder)).hex(), path.lstat().st_mode, held])
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def _remove(folder: Path) -> None:
    """Remove a folder, also where an image made folders that their own owner may not write to."""
    for place, names, _ in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(folder)
