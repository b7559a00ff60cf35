"""Images for the tests, made here: a root of Debian's `busybox-static`, layers of given entries, and a registry on loopback."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tracebench_terminalbench.oci.images import INSTALL, TOOLS
from tracebench_terminalbench.oci.mapped import MappedError, hand_over, run_mapped

APPLETS = [
    "sh",
    "ls",
    "cat",
    "mkdir",
    "chmod",
    "chown",
    "rm",
    "find",
    "grep",
    "sed",
    "env",
    "sleep",
    "test",
    "true",
    "false",
    "echo",
    "touch",
    "id",
    "head",
    "tr",
    "wc",
    "ps",
    "mv",
    "ln",
    "mknod",
    "ifconfig",
    "nc",
]


def needs_tools(folder: Path) -> None:
    """Skip where the tools are not here, or user namespaces are off."""
    if missing := [tool for tool in (*TOOLS, "busybox") if shutil.which(tool) is None]:
        pytest.skip(f"{', '.join(missing)} not here; Debian: {INSTALL} busybox-static")
    own = folder / "own"
    own.mkdir()
    try:
        run_mapped(["true"], hand_over(own), environ={})
    except (MappedError, OSError) as err:
        pytest.skip(f"no user namespaces here: {err}")


def busybox(folder: Path, *, release: str = "tracebench-busybox") -> Path:
    """Make an image in OCI's layout, `folder/busybox` with the tag `1`, and return where it is."""
    root, layout = folder / "root", folder / "busybox"
    for name in ("bin", "etc", "tmp", "root", "srv"):
        (root / name).mkdir(parents=True)
    shutil.copy(str(shutil.which("busybox")), root / "bin/busybox")
    for applet in APPLETS:
        (root / "bin" / applet).symlink_to("busybox")
    (root / "etc/os-release").write_text(f"ID={release}\n")
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nworker:x:1000:1000::/srv:/bin/sh\n")
    umoci("init", "--layout", str(layout))
    umoci("new", "--image", f"{layout}:1")
    umoci("insert", "--image", f"{layout}:1", str(root), "/")
    umoci("config", "--image", f"{layout}:1", "--config.workingdir", "/srv", "--config.env", "MADE=here")
    return layout


def debian(folder: Path, release: str) -> str:
    """Make an image of a release of Debian in `folder/debian`, and return where it is; skip where its root is not here."""
    packed = Path(os.environ.get("TRACEBENCH_DEBIAN_ROOTS", "/nonexistent"), f"{release}.tar")
    if not packed.is_file():
        pytest.skip(
            f"no {packed.name} in $TRACEBENCH_DEBIAN_ROOTS: mmdebstrap --variant=minbase {release} {packed.name}"
        )
    layout = folder / "debian"
    umoci("init", "--layout", str(layout))
    umoci("new", "--image", f"{layout}:{release}")
    umoci("raw", "add-layer", "--image", f"{layout}:{release}", str(packed))
    return f"{layout}:{release}"


def with_layer(layout: Path, entries: list[tarfile.TarInfo], *, tag: str) -> str:
    """Add a layer of such entries to the image `1`, and return the place of the new one."""
    layer = layout.parent / f"{tag}.tar"
    with tarfile.open(layer, "w") as archive:
        for entry in entries:
            archive.addfile(entry, io.BytesIO(b"x" * entry.size) if entry.isreg() else None)
    umoci("tag", "--image", f"{layout}:1", tag)
    umoci("raw", "add-layer", "--image", f"{layout}:{tag}", str(layer))
    return f"{layout}:{tag}"


def entry(name: str, kind: bytes = tarfile.REGTYPE, *, size: int = 0, to: str = "") -> tarfile.TarInfo:
    """Return an entry of a layer."""
    made = tarfile.TarInfo(name)
    made.type, made.size, made.linkname, made.mode = kind, size, to, 0o644
    return made


def umoci(*words: str) -> None:
    """Run umoci, which must succeed."""
    subprocess.run(["umoci", *words], check=True, capture_output=True)


@contextmanager
def registry(layout: Path, *, cut: bool = False) -> Iterator[tuple[str, list[str]]]:
    """Serve an image as `library/base` read-only on loopback, and yield `host:port` and the paths that were asked for.

    Args:
        cut: end each blob in its middle.
    """
    asked: list[str] = []
    index = (layout / "index.json").read_bytes()
    digest = json.loads(index)["manifests"][0]["digest"]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            parts = self.path.strip("/").split("/")
            if parts == ["v2"]:
                body, kind = b"{}", "application/json"
            elif parts[-2] == "manifests" and parts[1:3] == ["library", "base"]:
                body, kind = blob(digest), "application/vnd.oci.image.manifest.v1+json"
            elif parts[-2] == "blobs":
                body, kind = blob(parts[-1]), "application/octet-stream"
            else:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Docker-Content-Digest", parts[-1] if parts[-2:-1] == ["blobs"] else digest)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body[: len(body) // 2] if cut and parts[-2:-1] == ["blobs"] else body)

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    def blob(name: str) -> bytes:
        return (layout / "blobs" / name.replace(":", "/")).read_bytes()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
