"""The store of images, with small programs in place of skopeo, umoci and buildah: what they are told, what is kept, what is refused.

On the host they are found in a folder of the test's own; in the namespaces, which hide that, in the image's own layout.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.whole import one_in
from typer.testing import CliRunner

from tracebench_core.errors import UsageError
from tracebench_terminalbench.catalog import TOYS, Case
from tracebench_terminalbench.command import app
from tracebench_terminalbench.job_config import STORE
from tracebench_terminalbench.oci import layers
from tracebench_terminalbench.oci.images import Kept, Store
from tracebench_terminalbench.oci.layers import Contents, inspect
from tracebench_terminalbench.oci.mapped import FIRST, PROCESSES, MappedError, hand_over, has_range, run_mapped
from tracebench_terminalbench.oci.needed import needed_images, prepare_agent, store_of
from tracebench_terminalbench.options import Options

SKOPEO = """#!/bin/sh
echo "skopeo $*" >> "${SAID:-/tmp/home/said}"
for last; do :; done
case "$*" in
*containers-storage:*) env | sort >> /tmp/home/said; cat /tmp/home/policy.json /tmp/home/registries.conf >> /tmp/home/said; exit 0;;
esac
for word; do case "$word" in oci:/*) place=${word#oci:}; place=${place%:1}; break;; esac; done
[ -n "$place" ] || { cat "$WRONG" >&2; exit 1; }
case "$*" in
inspect*) cat "$place/index.json";;
*) target=${last#oci:}; cp -r "$place" "${target%:image}";;
esac
"""
UMOCI = """#!/bin/sh
[ -e /tmp/layout/refuse ] && { echo "no room for it"; exit 3; }
for last; do :; done
for word; do case "$word" in *:image) layout=${word%:image};; esac; done
mkdir "$last"
for blob in "$layout"/blobs/sha256/*; do tar -xf "$blob" -C "$last" --no-same-owner 2>/dev/null; done
echo "umoci $*" > "$last/umoci"
mkdir "$last/shut" && touch "$last/shut/file" && chmod 555 "$last/shut"
[ ! -e /tmp/home/said ] || cp /tmp/home/said "$last/said"
"""
BUILDAH = """#!/bin/sh
echo "buildah $*" >> /tmp/home/said
case "$*" in
*" push "*) cp -r /tmp/base-0 /tmp/out/layout;;
*) cat /tmp/context/note >> /tmp/home/said; readlink /tmp/context/link >> /tmp/home/said; readlink /proc/self/ns/net >> /tmp/home/said;;
esac
"""


@pytest.fixture(scope="module")
def spaces(tmp_path_factory: pytest.TempPathFactory) -> None:
    own = tmp_path_factory.mktemp("own")
    try:
        run_mapped(["true"], hand_over(own), environ={})
    except (MappedError, OSError) as err:
        pytest.skip(f"no user namespaces here: {err}")


@pytest.fixture
def tools(spaces: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Place the three programs, and return what reads how those of the host were called."""
    write_tools(tmp_path / "bin")
    said = tmp_path / "said"
    monkeypatch.setenv("SAID", str(said))
    monkeypatch.setenv("WRONG", str(tmp_path / "wrong"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/tmp/layout/bin:/tmp/base-0/bin:{os.environ['PATH']}")
    return lambda: said.read_text().splitlines() if said.exists() else []


def write_tools(folder: Path) -> None:
    folder.mkdir()
    for name, text in (("skopeo", SKOPEO), ("umoci", UMOCI), ("buildah", BUILDAH)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


def entry(name: str, kind: bytes = tarfile.REGTYPE, *, size: int = 0) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.size, made.mode = kind, size, 0o644
    return made


def image_at(layout: Path, *entries: tarfile.TarInfo, config: Any = None, kind: str = "tar") -> Path:
    """Write an image in OCI's layout, each entry in a layer of its own."""
    blobs = layout / "blobs/sha256"
    blobs.mkdir(parents=True)
    (layout / "oci-layout").write_text("{}")
    write_tools(layout / "bin")

    def blob(content: bytes) -> str:
        name = hashlib.sha256(content).hexdigest()
        (blobs / name).write_bytes(content)
        return f"sha256:{name}"

    made = []
    for one in entries:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.addfile(one, io.BytesIO(b"x" * one.size) if one.isreg() else None)
        made.append({"mediaType": f"application/{kind}", "digest": blob(packed.getvalue())})
    told = {"layers": made, "config": {"digest": blob(json.dumps({"config": config}).encode())}}
    (layout / "index.json").write_text(json.dumps({"manifests": [{"digest": blob(json.dumps(told).encode())}]}))
    return layout


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    return image_at(tmp_path / "image", entry("a", size=3), entry("b", size=4), config={"WorkingDir": "/srv"})


def network() -> str:
    return str(Path("/proc/self/ns/net").readlink())


def store(tmp_path: Path, layout: Path, **settings: Any) -> Store:
    return Store(tmp_path / "store", images={"base": f"{layout}:1"}, **settings)


def test_an_image_is_fetched_and_unpacked_once(
    tools: Callable[[], list[str]], tmp_path: Path, layout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = store(tmp_path, layout)
    old = os.umask(0o077)
    try:
        image = ours.image("base")
    finally:
        os.umask(old)

    key = hashlib.sha256((layout / "index.json").read_bytes()).hexdigest()[:32]
    assert image.root == tmp_path / "store/roots" / key / "rootfs"
    assert [(image.root / name).read_text() for name in "ab"] == ["xxx", "xxxx"]
    assert (image.config, image.notes) == ({"WorkingDir": "/srv"}, "")
    faked = "" if has_range() else "--rootless "
    assert (image.root / "umoci").read_text() == f"umoci raw unpack {faked}--image layout:image done/rootfs\n"
    assert not has_range() or (image.root / "a").stat().st_uid == FIRST
    assert (tmp_path / "store/roots").stat().st_mode & 0o777 == 0o755
    inspected, copied = tools()
    assert inspected == f"skopeo inspect --raw oci:{layout}:1"
    assert copied.startswith(
        f"skopeo --insecure-policy copy --quiet oci:{layout}:1 oci:{tmp_path / 'store/.trace-bench-work-'}"
    )
    assert copied.endswith("/layout:image")
    assert (ours.key_of("base"), ours.holds(key), ours.holds("other")) == (key, True, False)
    assert ours.image("docker.io/library/base:latest") == image
    assert sum("copy" in line for line in tools()) == 1
    assert ours.kept() == [Kept(key, "base", 7)]
    assert not [*(tmp_path / "store").glob(".trace-bench-work-*")]


def test_what_is_kept_is_removed_unless_a_sandbox_has_it(
    tools: Callable[[], list[str]], tmp_path: Path, layout: Path
) -> None:
    ours = store(tmp_path, layout)
    place = ours.image("base").root.parent
    held = os.open(place, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_SH)

    assert not ours.remove(place.name)
    assert place.exists()
    os.close(held)
    assert ours.remove(place.name)

    assert [path.name for path in (tmp_path / "store").iterdir()] in (["lock", "roots"], ["roots", "lock"])
    assert ours.kept() == []


@pytest.mark.parametrize("text", one_in(3, ["{", "[]", "", "[" * 100_000, '{"name": 3}', '{"bytes": "x"}', "\\xff"]))
def test_an_image_of_which_nothing_can_be_read_is_told_beside_the_others(
    tools: Callable[[], list[str]], tmp_path: Path, layout: Path, text: str
) -> None:
    ours = store(tmp_path, layout)
    key = ours.image("base").root.parent.name
    other = tmp_path / "store/roots/other"
    other.mkdir()
    (other / "image.json").write_text('{"name": "other", "bytes": 3}')
    os.utime(other, (1, 1))
    (tmp_path / "store/roots" / key / "image.json").write_text(text)
    assert ours.kept() == [Kept("other", "other", 3), Kept(key, "", 0, damaged=True)]
    with pytest.raises(MappedError, match=f"is damaged; remove it: trace-bench images remove {key}$"):
        ours.image("base")
    assert ours.remove(key)
    assert ours.image("base").root.parent.name == key


def test_the_folder_of_one_that_was_killed_goes_and_of_one_that_works_stays(
    tools: Callable[[], list[str]], tmp_path: Path, layout: Path
) -> None:
    for name in (".trace-bench-work-dead", ".trace-bench-work-busy"):
        (tmp_path / "store" / name / "shut").mkdir(parents=True)
        (tmp_path / "store" / name / "shut").chmod(0o500)
    (tmp_path / "store/.trace-bench-work-dead/away").symlink_to(tmp_path / "image")
    held = os.open(tmp_path / "store/.trace-bench-work-busy", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)

    store(tmp_path, layout).image("base")
    os.close(held)

    assert [path.name for path in (tmp_path / "store").glob(".trace-bench-work-*")] == [".trace-bench-work-busy"]
    assert layout.stat().st_mode & 0o077, "what a link leads to is not changed"


def test_an_installed_agent_is_gathered_once_and_anew_when_it_changed(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.mkdir()
    (agent / "main").write_text("one")
    ours = Store(tmp_path / "deep/store", images={})
    first = ours.brought([str(agent)])
    inode = first.stat().st_ino

    assert (first / agent.relative_to("/") / "main").read_text() == "one"
    assert ours.brought([str(agent)]).stat().st_ino == inode
    (agent / "main").write_text("other")
    second = ours.brought([str(agent)])
    assert second.parent.name != first.parent.name
    os.utime(first.parent, (1, 1))
    assert ours.kept() == [
        Kept(first.parent.name, "an installed agent", 0),
        Kept(second.parent.name, "an installed agent", 0),
    ]
    assert len(first.parent.name) == 32
    os.utime(second.parent, (0, 0))
    assert ours.kept()[-1].key == first.parent.name, "the newest last"


def test_a_dockerfile_is_built_of_the_images_that_it_names(
    tools: Callable[[], list[str]], tmp_path: Path, layout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy:1")
    monkeypatch.delenv("no_proxy", raising=False)
    other = image_at(tmp_path / "other", entry("o", size=1))
    context = tmp_path / "context"
    context.mkdir()
    (context / "Dockerfile").write_text("ARG V=base\nFROM ${V}\nCOPY --from=me/other:2 o /o\n")
    (context / "note").write_text("a note\n")
    (context / "link").symlink_to("nowhere")
    images = {"base": f"{layout}:1", "me/other:2": f"{other}:1"}
    ours = Store(tmp_path / "store", images=images)

    image = ours.built(context)

    said = (image.root / "said").read_text().splitlines()
    storage = "containers-storage:[overlay@/tmp/home/graph+/tmp/home/state]"
    assert [line for line in said if line.startswith("skopeo")] == [
        f"skopeo --insecure-policy copy --quiet oci:base-0:image {storage}docker.io/library/base:latest",
        f"skopeo --insecure-policy copy --quiet oci:base-1:image {storage}docker.io/me/other:2",
    ]
    roots = "buildah --root /tmp/home/graph --runroot /tmp/home/state --storage-driver overlay"
    hub = "docker-image://docker.io"
    policy = "--signature-policy /tmp/home/policy.json"
    assert [line for line in said if line.startswith("buildah")] == [
        (
            f"{roots} build {policy} --pull-never --network=host --layers=false --build-context ${{V}}={hub}/library/base:latest "
            f"--build-context me/other:2={hub}/me/other:2 --tag localhost/task:latest context"
        ),
        f"{roots} push --quiet {policy} --disable-compression localhost/task:latest oci:out/layout:image",
    ]
    assert {
        "HOME=/tmp/home", "XDG_RUNTIME_DIR=/tmp/home/run", "_CONTAINERS_USERNS_CONFIGURED=done", "BUILDAH_ISOLATION=chroot",
        "CONTAINERS_REGISTRIES_CONF=/tmp/home/registries.conf", "http_proxy=http://proxy:1", "a note", "nowhere",
        'unqualified-search-registries = ["docker.io"]', network(),
    } <= {*said, *(line.removeprefix('{"default": [{"type": "insecureAcceptAnything"}]}') for line in said)}  # fmt: skip
    assert any(line.startswith('{"default": [{"type": "insecureAcceptAnything"}]}') for line in said)
    assert not any(line.startswith("no_proxy=") for line in said)
    assert (image.root / "umoci").read_text().endswith("--image out/layout:image done/rootfs\n")
    assert ours.kept()[0].name == str(context)
    assert ours.built(context).root == image.root

    alone = Store(tmp_path / "store", images=images, network=False).built(context)
    assert alone.root != image.root
    assert network() not in (alone.root / "said").read_text()


def test_a_build_has_another_key_as_soon_as_anything_of_it_is_another(
    tools: Callable[[], list[str]], tmp_path: Path, layout: Path
) -> None:
    context = tmp_path / "context"
    (context / "sub").mkdir(parents=True)
    (context / "Dockerfile").write_text("FROM base\n")
    (context / "sub/a").write_text("1")
    (context / "link").symlink_to("a")
    ours = store(tmp_path, layout)
    keys = [ours.key_of(context)]
    assert ours.key_of(context) == keys[0]

    def link() -> None:
        (context / "link").unlink()
        (context / "link").symlink_to("b")

    for change in (
        lambda: (context / "sub/a").write_text("2"),
        lambda: (context / "sub/a").chmod(0o700),
        lambda: (context / "sub/a").rename(context / "sub/b"),
        link,
        lambda: (layout / "index.json").write_text((layout / "index.json").read_text() + " "),
    ):
        change()
        keys.append(ours.key_of(context))
    assert len({*keys}) == 6
    assert {len(key) for key in keys} == {32}


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("", "skopeo said nothing"),
        ("one\nlast words\n", "last words"),
        ('time="x" level=fatal msg="no \\"base\\" there"\n', 'no "base" there'),
        ('msg="first"\nmsg="second"', "second"),
        ('msg="cut off" more', 'msg="cut off" more'),
    ],
)
def test_what_skopeo_says_last_is_why_an_image_cannot_be_had(
    tools: Callable[[], list[str]], tmp_path: Path, written: str, told: str
) -> None:
    (tmp_path / "wrong").write_text(written)
    with pytest.raises(MappedError) as caught:
        Store(tmp_path / "store", images={}, registry="127.0.0.1:9").image("gone")

    assert str(caught.value) == f"the image `gone` cannot be had: {told}"
    assert tools() == ["skopeo inspect --raw --tls-verify=false docker://127.0.0.1:9/library/gone:latest"]


def test_a_copy_is_asked_with_the_flags_of_its_source(
    tools: Callable[[], list[str]], tmp_path: Path, layout: Path
) -> None:
    """A registry on loopback, whose image is there when it is looked for and gone when it is copied."""
    path = tmp_path / "bin/skopeo"
    path.write_text(SKOPEO.replace("[ -n", f'case "$*" in inspect*) cat {layout}/index.json; exit 0;; esac\n[ -n', 1))
    path.write_text(path.read_text().replace("in oci:/*)", "in nothing)"))
    (tmp_path / "wrong").write_text("no")
    with pytest.raises(MappedError, match=r"^the image `gone` cannot be had: no$"):
        Store(tmp_path / "store", images={}, registry="127.0.0.1:9").image("gone")

    source = "docker://127.0.0.1:9/library/gone:latest"
    assert tools()[-1].startswith(f"skopeo --insecure-policy copy --quiet --src-tls-verify=false {source} oci:/")


def test_commands_that_are_missing_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tools(tmp_path / "bin")
    for name in ("skopeo", "buildah"):
        (tmp_path / "bin" / name).unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(MappedError) as caught:
        Store(tmp_path / "store", images={}).key_of("base")

    assert str(caught.value) == (
        "images need the commands skopeo, buildah, which are not here; Debian: apt-get install skopeo umoci buildah"
    )
    assert not (tmp_path / "store").exists()


def test_what_fails_in_the_middle_leaves_nothing(tools: Callable[[], list[str]], tmp_path: Path, layout: Path) -> None:
    (layout / "refuse").touch()
    with pytest.raises(MappedError, match=r"^`umoci` ended with 3: no room for it$"):
        store(tmp_path, layout).image("base")
    with pytest.raises(MappedError, match="more than 0 MB"):
        store(tmp_path, layout, image_mb=0).image("base")
    (tmp_path / "context").mkdir()
    (tmp_path / "context/Dockerfile").write_text("FROM base\n")
    with pytest.raises(MappedError, match="more than 0 MB"):
        store(tmp_path, layout, image_mb=0).built(tmp_path / "context")

    assert not [*(tmp_path / "store").glob(".trace-bench-work-*")]
    assert store(tmp_path, layout).kept() == []


def test_devices_of_an_image_are_told(tools: Callable[[], list[str]], tmp_path: Path) -> None:
    made = image_at(tmp_path / "image", entry("dev/x", tarfile.CHRTYPE), entry("pipe", tarfile.FIFOTYPE))
    image = store(tmp_path, made).image("base")

    assert image.notes == "1 device nodes of the image (dev/x) are empty files, and all its files are root's"
    assert (image.root / "umoci").read_text() == "umoci raw unpack --rootless --image layout:image done/rootfs\n"
    assert image.config == {}


def huge(size: int) -> tarfile.TarInfo:
    made = entry("huge")
    made.pax_headers = {"GNU.sparse.size": str(size)}
    return made


def test_an_image_is_looked_through_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mb = 1 << 20
    devices = [
        entry(name, kind) for name, kind in (("c", tarfile.CHRTYPE), ("b", tarfile.BLKTYPE), ("p", tarfile.FIFOTYPE))
    ]
    made = image_at(
        tmp_path / "a", *devices, entry("d", tarfile.DIRTYPE), entry("f", size=2 * mb), config={"User": "u"}
    )

    assert inspect(made, most_mb=2) == Contents(2 * mb, ("c", "b"), {"User": "u"})
    limit = "the image unpacks to more than {} MB or {} files (`image_mb` of `harbor_environment_kwargs`)"
    with pytest.raises(MappedError) as caught:
        inspect(made, most_mb=1)
    assert str(caught.value) == limit.format(1, "2,000,000")
    monkeypatch.setattr(layers, "MOST_ENTRIES", 5)
    assert inspect(made, most_mb=2).bytes == 2 * mb
    monkeypatch.setattr(layers, "MOST_ENTRIES", 4)
    with pytest.raises(MappedError) as caught:
        inspect(made, most_mb=2000)
    assert str(caught.value) == limit.format("2,000", "4")


def test_an_image_that_the_disk_has_no_room_for_is_refused(tmp_path: Path) -> None:
    made = image_at(tmp_path / "a", huge(1 << 50))
    with pytest.raises(
        MappedError, match=r"^the image needs 1,073,741,824 MB, and / has [\d,]+ MB left for it$"
    ) as caught:
        inspect(made, most_mb=1 << 40)
    state = os.statvfs(tmp_path)
    left = int(str(caught.value).split(" has ")[1].split(" ")[0].replace(",", ""))
    assert left <= state.f_blocks * state.f_frsize / (1 << 20)
    assert left > state.f_bavail * state.f_frsize / (1 << 20) / 2


def test_a_layer_of_zstd_is_refused_with_what_helps(tmp_path: Path) -> None:
    made = image_at(tmp_path / "a", entry("f"), kind="tar+zstd")
    with pytest.raises(MappedError) as caught:
        inspect(made, most_mb=1)
    assert str(caught.value) == "a layer is packed by zstd, which umoci cannot unpack: push it with gzip"


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (None, "FileNotFoundError: "),
        ("{", "JSONDecodeError: "),
        ("{}", "KeyError: 'manifests'"),
        ('{"manifests": []}', "ValueError: not enough values"),
        ('{"manifests": [{"digest": "sha256:../x"}]}', "ValueError: `sha256:../x` is no digest"),
        ('{"manifests": [{"digest": "../x:1"}]}', "ValueError: `../x:1` is no digest"),
        ('{"manifests": [{"digest": "sha256"}]}', "ValueError: `sha256` is no digest"),
        ('{"manifests": [1]}', "TypeError: "),
    ],
)
def test_a_layout_that_cannot_be_read_is_refused_in_words(tmp_path: Path, index: str | None, words: str) -> None:
    made = image_at(tmp_path / "a", entry("f"))
    (made / "index.json").unlink() if index is None else (made / "index.json").write_text(index)
    with pytest.raises(MappedError) as caught:
        inspect(made, most_mb=1)
    assert str(caught.value).startswith(f"the image cannot be unpacked: {words}")


def test_a_command_of_the_namespaces_has_its_folder_as_tmp_and_nothing_of_the_host(
    spaces: None, tmp_path: Path
) -> None:
    work = hand_over(tmp_path)
    (tmp_path / "here").write_text("h")
    os.environ["TRACEBENCH_X"] = "x"
    try:
        said = run_mapped(
            [
                "sh",
                "-c",
                "pwd; cat /tmp/here; echo; env; id -u; touch /var/tmp/made; cat /proc/self/limits; echo wrong >&2",
            ],
            work,
            environ={"A": "b", "TMPDIR": "/tmp/more"},
        ).splitlines()
    finally:
        del os.environ["TRACEBENCH_X"]

    assert said[:2] == ["/tmp", "h"]
    assert {"A=b", "TMPDIR=/tmp/more", f"PATH={os.environ['PATH']}", "0"} <= {*said}
    assert not any(line.startswith(("TRACEBENCH_X", "HOME=")) for line in said)
    assert said[-1] == "wrong", "what is said as an error is among it"
    assert next(line.split()[2] for line in said if line.startswith("Max processes")) == str(PROCESSES)
    assert (tmp_path / "made").exists()
    assert "TMPDIR=/tmp" in run_mapped(["env"], work, environ={}).splitlines()


def test_a_command_of_the_namespaces_reaches_a_network_only_where_it_may(spaces: None, tmp_path: Path) -> None:
    work, ours = (
        hand_over(tmp_path),
        {kind: str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("net", "pid", "user")},
    )
    for network in (True, False):
        net, pid, user = run_mapped(
            ["readlink", *(f"/proc/self/ns/{kind}" for kind in ours)], work, environ={}, network=network
        ).split()
        assert (net == ours["net"]) == network
        assert pid != ours["pid"]
        assert user != ours["user"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["sh", "-c", "exit 7"], "`sh` ended with 7: it said nothing"),
        (["sh", "-c", "echo one; echo two >&2; exit 1"], "`sh` ended with 1: one\ntwo"),
        (["sh", "-c", "printf '%02000d' 0; printf '\\377'; exit 2"], "`sh` ended with 2: " + "0" * 1499 + "\N{REPLACEMENT CHARACTER}"),
        (["./none"], "`./none` ended with 1: FileNotFoundError: [Errno 2] No such file or directory: './none'"),
    ],
)  # fmt: skip
def test_a_command_that_fails_is_told_with_its_last_words(
    spaces: None, tmp_path: Path, argv: list[str], words: str
) -> None:
    with pytest.raises(MappedError) as caught:
        run_mapped(argv, hand_over(tmp_path), environ={})
    assert str(caught.value) == words


@pytest.fixture
def task(tmp_path: Path) -> Callable[..., Path]:
    """Write the folder of a task, with an image or a Dockerfile."""

    def write(name: str, *, image: str = "", dockerfile: str = "") -> Path:
        folder = tmp_path / "tasks" / name
        (folder / "environment").mkdir(parents=True)
        text = (TOYS / "hello-file/task.toml").read_text().replace("docker_image", "#")
        told = text.replace("[environment]", f'[environment]\ndocker_image = "{image}"') if image else text
        (folder / "task.toml").write_text(told)
        (folder / "instruction.md").write_text("Do nothing.\n")
        if dockerfile:
            (folder / "environment/Dockerfile").write_text(dockerfile)
        return folder

    return write


def oci(layout: Path, **kwargs: Any) -> Options:
    given = {"images": {"base": f"{layout}:1"}, **kwargs}
    return Options.model_validate({"harbor_env": "oci", "agent": "oracle", "harbor_environment_kwargs": given})


def test_the_images_of_tasks_on_disk_are_needed_and_of_other_backends_none(
    tools: Callable[[], list[str]],
    tmp_path: Path,
    layout: Path,
    task: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(STORE, str(tmp_path / "store"))
    named = task("named", image="base", dockerfile="FROM other\n")
    built = task("built", dockerfile="FROM base\n")
    (built / "environment/note").write_text("x\n")
    (built / "environment/link").symlink_to("x")
    cases = [Case("named", named), Case("away"), Case("built", built)]
    options = oci(layout)

    found = [*needed_images(options, cases)]

    assert [(image.slug, image.source) for image in found] == [("named", "base"), ("built", built / "environment")]
    assert [image.is_ready() for image in found] == [False, False]
    places = [image.prepare() for image in found]
    assert [image.is_ready() for image in found] == [True, True]
    assert all((place / "a").read_text() == "xxx" for place in places)
    assert [image.name for image in found[0].store.kept()] == ["base", str(built / "environment")]
    for other in (None, "docker", "local"):
        assert [*needed_images(options.model_copy(update={"harbor_env": other}), cases)] == []


def test_a_task_without_an_image_is_refused(tmp_path: Path, layout: Path, task: Callable[..., Path]) -> None:
    empty, broken = task("empty"), task("broken")
    (broken / "task.toml").write_text("= 1")
    with pytest.raises(MappedError) as caught:
        list(needed_images(oci(layout), [Case("empty", empty)]))
    assert str(caught.value) == "`empty` has neither a `docker_image` nor a Dockerfile"
    for place in (broken, tmp_path / "gone"):
        with pytest.raises(MappedError) as caught:
            list(needed_images(oci(layout), [Case("broken", place)]))
        assert str(caught.value).startswith(f"`{place / 'task.toml'}` cannot be read: ")


def test_a_store_is_as_the_config_has_it(
    tools: Callable[[], list[str]], tmp_path: Path, layout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STORE, str(tmp_path / "usual"))
    context = tmp_path / "context"
    context.mkdir()
    (context / "Dockerfile").write_text("FROM base\n")
    online, same, offline = (store_of(oci(layout, **more)) for more in ({}, {"network": "task"}, {"network": "none"}))
    assert online.key_of(context) == same.key_of(context) != offline.key_of(context)
    assert online.image("base").root.is_relative_to(tmp_path / "usual/roots")
    assert store_of(oci(layout, store=str(tmp_path / "own"))).image("base").root.is_relative_to(tmp_path / "own")
    with pytest.raises(MappedError, match="more than 0 MB"):
        store_of(oci(layout, store=str(tmp_path / "small"), image_mb=0)).image("base")
    (tmp_path / "wrong").write_text("no")
    with pytest.raises(MappedError):
        store_of(oci(layout, registry="127.0.0.1:9")).image("elsewhere")
    assert "127.0.0.1:9/library/elsewhere" in tools()[-1]


def test_only_an_agent_that_is_here_is_gathered_beforehand(
    tmp_path: Path, layout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STORE, str(tmp_path / "store"))
    for agent, more in (("oracle", {}), ("terminus-2", {}), ("folder", {"agent_command": "sh main"})):
        options = Options.model_validate(
            {"harbor_env": "oci", "agent": agent, "optimize": "extra_instructions", **more}
        )
        prepare_agent(options)
        assert not (tmp_path / "store").exists()


@pytest.fixture
def ask(tools: Callable[[], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Return what runs `trace-bench images` in this process, with a store and a working directory of the test's own."""
    monkeypatch.setenv(STORE, str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, [*words])


def config_of(folder: Path, layout: Path, *tasks: str, **more: Any) -> list[str]:
    kwargs = {"images": {"base": f"{layout}:1"}}
    given = {"harbor_env": "oci", "agent": "oracle", "harbor_environment_kwargs": kwargs}
    settings = {"mode": "stub", "trainers": ["NoOp"], "seeds": [1, 2], "eval_kwargs": given, "tasks": [*tasks], **more}
    (folder / "run.yaml").write_text(json.dumps(settings))
    return ["--config", "run.yaml", "--root", "tasks"]


def test_images_are_prepared_each_once_and_what_cannot_be_had_is_told(
    ask: Callable[..., Result], tmp_path: Path, layout: Path, task: Callable[..., Path]
) -> None:
    task("good", image="base")
    task("lost")
    config = config_of(tmp_path, layout, "terminal_bench:lost", "terminal_bench:good")

    done = ask("prepare", *config)

    root = next((tmp_path / "store/roots").iterdir()) / "rootfs"
    lost, good = (line for line in done.stdout.splitlines() if line)
    assert done.exit_code == 1
    assert re.fullmatch(r"\[FAIL\] terminal_bench:lost: `lost` has neither .* nor a Dockerfile \(\d+\.\d s\)", lost)
    assert re.fullmatch(rf"\[OK\] terminal_bench:good: {root} \(\d+\.\d s\)", good)
    told = json.loads(ask("prepare", *config, "--json").stdout)["images"]
    assert [(row["task"], row["ready"]) for row in told] == [
        ("terminal_bench:lost", False),
        ("terminal_bench:good", True),
    ]
    assert told[1]["words"] == str(root)
    assert all(row["seconds"] >= 0 for row in told)
    only = ask("prepare", *config, "-o", "tasks=[terminal_bench:good]")
    assert (only.exit_code, only.stdout.count("\n")) == (0, 1)


def test_a_config_without_such_a_task_needs_no_image(ask: Callable[..., Result], tmp_path: Path, layout: Path) -> None:
    for name in ("terminal_bench:toys", "internal:numeric_param"):
        config_of(tmp_path, layout, name, eval_kwargs={})
        done = ask("prepare", "--config", "run.yaml")
        assert (done.exit_code, done.stdout) == (0, "")
        assert done.stderr.replace("\n", " ").strip() == (
            "No task of this config has `harbor_env: oci` and a folder on disk: no image is needed beforehand."
        )
        assert json.loads(ask("prepare", "--config", "run.yaml", "--json").stdout)["images"] == []


def test_images_are_listed_and_removed_by_their_keys(ask: Callable[..., Result], tmp_path: Path) -> None:
    made = image_at(tmp_path / "image", entry("a", size=2_600_000))
    key = Store(tmp_path / "store", images={"base": f"{made}:1"}).image("base").root.parent.name
    assert json.loads(ask("list", "--json").stdout)["images"] == [{"key": key, "name": "base", "bytes": 2_600_000}]
    head, row = (line.split() for line in ask("list").stdout.splitlines() if key in line or "MB" in line)
    assert (head, row) == (["key", "MB", "of"], [key, "3", "base"])

    held = os.open(tmp_path / "store/roots" / key, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    used = ask("remove", key)
    os.close(held)
    assert (used.exit_code, used.stderr.strip()) == (1, f"`{key}` stays: a sandbox runs on it.")
    unknown = ask("remove", key, "0123")
    assert isinstance(unknown.exception, UsageError)
    assert (str(unknown.exception), unknown.exception.hint) == ("There is no image `0123`.", "trace-bench images list")
    assert (tmp_path / "store/roots" / key).exists(), "nothing is removed where one key is wrong"
    assert (ask("remove", key).exit_code, json.loads(ask("list", "--json").stdout)["images"]) == (0, [])
