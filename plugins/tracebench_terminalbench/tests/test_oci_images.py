"""Images are fetched, built and unpacked by real tools; what is hostile in them leads nowhere, and what cannot be had is said."""

from __future__ import annotations

import os
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest
from plugins.tracebench_terminalbench.tests.images import busybox, entry, needs_tools, registry, umoci, with_layer

from tracebench_terminalbench.oci.images import Store, _hash_of
from tracebench_terminalbench.oci.mapped import FIRST, MappedError, hand_over, has_range, run_mapped

pytestmark = pytest.mark.heavy("harbor")


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("image")
    needs_tools(folder)
    return busybox(folder)


def store(tmp_path: Path, place: str, **settings: object) -> Store:
    return Store(tmp_path / "store", images={"base": place}, **settings)  # type: ignore[arg-type] - settings of the tests


def test_an_image_is_unpacked_from_a_layout_a_saved_file_and_a_registry(layout: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved.tar"
    copy = ["skopeo", "--insecure-policy", "copy", "-q", f"oci:{layout}:1", f"docker-archive:{saved}:base:1"]
    subprocess.run(copy, check=True)
    with registry(layout) as (address, asked):
        images = [
            store(tmp_path, f"{layout}:1").image("base"),
            store(tmp_path, str(saved)).image("base"),
            Store(tmp_path / "other", images={}, registry=address).image("base"),
        ]

    assert any("/v2/library/base/manifests/latest" in path for path in asked)
    for image in images:
        assert (image.root / "etc/os-release").read_text() == "ID=tracebench-busybox\n"
        assert image.config["WorkingDir"] == "/srv"
        assert not has_range() or (image.root / "bin/busybox").stat().st_uid == FIRST
    assert not list((tmp_path / "store").glob(".trace-bench-work-*"))


def test_a_second_look_at_the_same_image_unpacks_nothing(layout: Path, tmp_path: Path) -> None:
    first = store(tmp_path, f"{layout}:1").image("base")
    inode = first.root.stat().st_ino

    assert store(tmp_path, f"{layout}:1").image("docker.io/library/base:latest").root.stat().st_ino == inode


def test_hostile_entries_of_a_layer_lead_nowhere(layout: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    outside.chmod(0o777)
    up = "../" * 12
    place = with_layer(
        layout,
        [
            entry(f"{up}{outside}/by-dots", size=1),
            entry("leads-out", tarfile.SYMTYPE, to=str(outside)),
            entry("leads-out/by-link", size=1),
            entry("dots-out", tarfile.SYMTYPE, to=f"{up}{outside}"),
            entry("dots-out/by-dotted-link", size=1),
            entry("hard", tarfile.LNKTYPE, to="bin/busybox"),
            entry(".wh.srv"),
        ],
        tag="hostile",
    )

    image = store(tmp_path, place).image("base")

    assert list(outside.iterdir()) == []
    assert (image.root / "hard").stat().st_ino == (image.root / "bin/busybox").stat().st_ino
    assert not (image.root / "srv").exists()  # a whiteout
    assert (image.root / "leads-out").is_symlink()


def test_a_hard_link_to_a_file_of_the_host_is_refused(layout: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    secret.chmod(0o644)
    place = with_layer(layout, [entry("stolen", tarfile.LNKTYPE, to=f"{'../' * 12}{secret}")], tag="stealing")

    with pytest.raises(MappedError, match="umoci"):
        store(tmp_path, place).image("base")

    assert secret.stat().st_nlink == 1
    assert not list((tmp_path / "store/roots").glob("*"))


def test_device_nodes_are_left_out_and_told(layout: Path, tmp_path: Path) -> None:
    disk = entry("dev/sda", tarfile.BLKTYPE)
    disk.devmajor, disk.devminor = 8, 0

    image = store(tmp_path, with_layer(layout, [disk], tag="devices")).image("base")

    assert not (image.root / "dev/sda").is_block_device()
    assert image.notes.startswith("1 device nodes of the image (dev/sda) are empty files")


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("large", "unpacks to more than 8 MB"),
        ("damaged", "cannot be had: .*Digest did not match"),
        ("no archive", "the image cannot be unpacked"),
        ("nothing", "is no image"),
        ("away", "cannot be had"),
    ],
)
def test_what_cannot_be_unpacked_is_said_and_leaves_nothing(
    layout: Path, tmp_path: Path, made: str, words: str
) -> None:
    place = {
        "large": lambda: with_layer(layout, [entry("zeros", size=9 << 20)], tag="large"),
        "damaged": lambda: _damaged(tmp_path),
        "no archive": lambda: _no_archive(tmp_path),
        "nothing": lambda: str(tmp_path),
        "away": lambda: "docker://127.0.0.1:9/base",
    }[made]()

    with pytest.raises(MappedError, match=words):
        store(tmp_path, place, image_mb=8).image("base")

    assert not list((tmp_path / "store").glob("*/*"))
    assert not list((tmp_path / "store").glob(".trace-bench-work-*"))


def _damaged(tmp_path: Path) -> str:
    made = busybox(tmp_path / "damaged")
    for blob in (made / "blobs/sha256").iterdir():
        if blob.stat().st_size > 100_000:
            blob.write_bytes(os.urandom(blob.stat().st_size))
    return f"{made}:1"


def _no_archive(tmp_path: Path) -> str:
    made = busybox(tmp_path / "none")
    (tmp_path / "junk").write_bytes(os.urandom(5000))
    umoci("raw", "add-layer", "--image", f"{made}:1", str(tmp_path / "junk"))
    return f"{made}:1"


def test_a_registry_that_breaks_off_is_said(layout: Path, tmp_path: Path) -> None:
    with registry(layout, cut=True) as (address, _), pytest.raises(MappedError, match="`base` cannot be had"):
        Store(tmp_path / "store", images={}, registry=address).image("base")


def test_a_dockerfile_is_built_from_its_own_image_and_no_step_is_root_of_the_host(layout: Path, tmp_path: Path) -> None:
    context = tmp_path / "context"
    context.mkdir()
    (context / "note").write_text("from the context\n")
    (context / "Dockerfile").write_text(
        "ARG BASE=base\nFROM ${BASE} AS made\nRUN cat /etc/os-release > /seen && cat /proc/self/uid_map > /users\n"
        "FROM base\nCOPY --from=made /seen /users /kept/\nCOPY note /kept/\nENV NAME=value\nWORKDIR /kept\nUSER worker\n"
    )

    image = store(tmp_path, f"{layout}:1", network=False).built(context)

    assert (image.root / "kept/seen").read_text() == "ID=tracebench-busybox\n"
    assert (image.root / "kept/note").read_text() == "from the context\n"
    assert (image.root / "kept/users").read_text().split()[1] == str(FIRST if has_range() else os.getuid())
    assert (image.config["WorkingDir"], image.config["User"]) == ("/kept", "worker")
    assert "NAME=value" in image.config["Env"]
    again = store(tmp_path, f"{layout}:1", network=False).built(context)
    assert again.root == image.root
    (context / "note").write_text("changed\n")
    assert store(tmp_path, f"{layout}:1", network=False).built(context).root != image.root


def test_a_step_that_leaves_its_root_finds_nothing_of_the_host(layout: Path, tmp_path: Path) -> None:
    """What `chroot` hides from a step of a Dockerfile is what its tools see; one that is root leaves a `chroot`."""
    name = "/var/tmp/trace-bench-left-here"
    (tmp_path / "work").mkdir()
    work = hand_over(tmp_path / "work")

    with pytest.raises(MappedError, match="No such file"):
        run_mapped(["cat", str(Path(__file__).resolve())], work, environ={})
    run_mapped(["touch", name], work, environ={})

    assert not Path(name).exists()
    assert run_mapped(["ls", "/"], work, environ={}).split() == sorted(
        {"dev", "etc", "proc", "tmp", "usr", "var", "sys"} | {
            path.strip("/").split("/")[0] for path in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store", "/gnu/store")
            if Path(path).exists()
        }
    )  # fmt: skip


def test_a_step_that_forks_without_end_is_stopped(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    script = "i=0; while [ $i -lt 5000 ]; do sleep 9999 & i=$((i+1)); done; echo all"

    with pytest.raises(MappedError, match=r"(?i)fork"):
        run_mapped(["sh", "-c", script], hand_over(work), environ={})


def test_two_folders_that_read_alike_end_to_end_are_two_images(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "Dockerfile").write_text("FROM base\nCOPY a* b* /kept/\n")
    (one / "a").write_text("1")
    (one / "b").write_text("2")
    mode = f"{(one / 'b').stat().st_mode:o}"
    (other / "a").write_text(f"1b\0{mode}\0" + "2")

    assert _hash_of(one) != _hash_of(other)


def test_nobody_waits_for_the_image_of_another(layout: Path, tmp_path: Path) -> None:
    ready = store(tmp_path, f"{layout}:1").image("base")
    context = tmp_path / "context"
    context.mkdir()
    (context / "Dockerfile").write_text("FROM base\nRUN sleep 7777\n")
    slow = os.fork()
    if slow == 0:
        os.close(2)
        store(tmp_path, f"{layout}:1", network=False).built(context)
        os._exit(0)
    try:
        while not any(b"sleep\x007777" in _command(path) for path in Path("/proc").glob("[0-9]*")):
            assert os.waitpid(slow, os.WNOHANG) == (0, 0)
        assert store(tmp_path, f"{layout}:1").image("base").root == ready.root
        assert store(tmp_path / "x", f"{layout}:1").image("base").root != ready.root
        (work,) = (tmp_path / "store").glob(".trace-bench-work-*")
        other = with_layer(layout, [entry("more", size=1)], tag="more")
        assert (store(tmp_path, other).image("base").root / "more").exists()
        assert work.exists(), "the folder of one that still builds"
    finally:
        os.kill(slow, signal.SIGKILL)
        os.waitpid(slow, 0)
    store(tmp_path, with_layer(layout, [entry("last", size=1)], tag="last")).image("base")
    assert not work.exists()


def _command(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("dockerfile", "words"),
    [
        ("FROM base\nRUN false\n", "buildah"),
        ("FROM base\nCOPY ../../secret /\n", "secret"),
        ("FROM base\nFETCH x\n", "FETCH"),
        ("FROM 127.0.0.1:9/gone\n", "`127.0.0.1:9/gone` cannot be had"),
    ],
)
def test_a_dockerfile_that_cannot_be_built_is_refused_in_words(
    layout: Path, tmp_path: Path, dockerfile: str, words: str
) -> None:
    (tmp_path / "context").mkdir()
    (tmp_path / "secret").write_text("s3cret")
    (tmp_path / "context/Dockerfile").write_text(dockerfile)

    with pytest.raises(MappedError, match=words):
        store(tmp_path, f"{layout}:1", network=False).built(tmp_path / "context")

    assert not list((tmp_path / "store").glob(".trace-bench-work-*"))
