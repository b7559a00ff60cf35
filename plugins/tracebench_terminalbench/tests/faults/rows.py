"""What befalls a trial, row by row: kills, a model's server, disks, images, and a container that takes what it can get."""

from __future__ import annotations

import os
import signal
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plugins.tracebench_terminalbench.tests.faults.world import World, children, parents, processes
from plugins.tracebench_terminalbench.tests.images import busybox, entry, with_layer

from tracebench_testing.fake_openai import FakeOpenAI

WORKS = "sleep SOME; touch /app/done"
"""`SOME` stands for seconds that only this task sleeps, by which it is found."""
DONE = "test -e /app/done"
PROGRAM = """\
body='{"model": "'"$MODEL"'", "messages": [{"role": "user", "content": "go"}]}'
/bin/busybox wget -q -O /dev/null --header "Authorization: Bearer $OPENAI_API_KEY" --header 'Content-Type: application/json' \
  --post-data "$body" "$OPENAI_BASE_URL/chat/completions" || exit 1
touch /app/done
"""
"""An agent that asks its model once, of nothing but busybox."""
FORKS = "while :; do (while :; do sleep SOME; done) & done"


@dataclass(frozen=True)
class Fault:
    """One row.

    Args:
        group: the words before it.
        what: what happens, in words.
        expected: `1`, `0`: what is measured; `again`: nothing the first time, and 1 when it is tried again; `nothing`: nothing is measured.
        told: what must occur in what is told.
        kills: finds the process to kill, from that of the command that the task sleeps in.
        befall: what is done while the run goes on, given that process.
        afterwards: what is done when the run has ended.
        around: what is open meanwhile.
        after: yields what must not be so in the end.
        task: settings of the task that it befalls.
        alone: it befalls the whole run, which has it and a sound task alone.
        resumed: only a resume makes the sound task measured.
    """

    group: str
    what: str
    expected: str
    told: str = ""
    kills: Callable[[int], int] | None = None
    befall: Callable[[World, int], None] | None = None
    afterwards: Callable[[World], None] = lambda _: None
    around: Callable[[World, str], Any] | None = None
    after: Callable[[World], Iterator[str]] = lambda _: iter(())
    task: Mapping[str, Any] = field(default_factory=dict)
    alone: bool = False
    sound: str = "measured: 1"
    """What becomes of the sound task."""

    @property
    def slug(self) -> str:
        """The name of its task."""
        return f"t{zlib.crc32(f'{self.group} {self.what}'.encode()):08x}"

    @property
    def sleeps(self) -> str:
        """The command that its task sleeps in, which no other process has."""
        return f"sleep 8.{int(self.slug[1:], 16) % 100000:05d}"

    @property
    def strikes(self) -> bool:
        """Whether something is done while its task sleeps."""
        return self.kills is not None or self.befall is not None

    def add_to(self, world: World) -> None:
        """Add its task to a world."""
        world.sleeps.add(self.sleeps)
        words = {name: _slept(value, self.sleeps, self.slug) for name, value in self.task.items()}
        world.task(self.slug, **{"solved": "true", "check": "true", **words})

    def strike(self, world: World, pid: int) -> None:
        """Do what befalls it, once `pid` sleeps."""
        if self.kills is not None:
            os.kill(self.kills(pid), signal.SIGKILL)
        elif self.befall is not None:
            self.befall(world, pid)


def _slept(value: Any, sleeps: str, slug: str) -> Any:
    return value.replace("sleep SOME", sleeps).replace("SLUG", slug) if isinstance(value, str) else value


def above(words: str) -> Callable[[int], int]:
    """Return what finds the nearest process above one whose words hold these."""

    def find(pid: int) -> int:
        lines = processes()
        return next(parent for parent in parents(pid) if words in lines.get(parent, ""))

    return find


def holder(pid: int) -> int:
    """Return the process that holds the sandbox in which a process is."""
    (harbor,) = [parent for parent in parents(pid) if "harbor run" in processes().get(parent, "")]
    lines = processes()
    mine = Path(f"/proc/{pid}/ns/pid").readlink()
    for child in children(harbor):
        if "oci.holder" in lines.get(child, "") and Path(f"/proc/{_first(child)}/ns/pid").readlink() == mine:
            return child
    raise LookupError("nobody holds its sandbox")


def _first(pid: int) -> int:
    return children(children(pid)[0])[0]


def job(pid: int) -> int:
    """Return the process of the job whose Harbor a process is below."""
    lines = processes()
    chain = parents(pid)
    return chain[next(i for i, parent in enumerate(chain) if "harbor run" in lines.get(parent, "")) + 1]


def stop_runner(world: World, _: int) -> None:
    """Kill the run's own process, see that nothing is left, and go on with the run."""
    assert world.runner is not None
    world.runner.kill()
    world.runner.wait()
    if found := world.left():
        raise AssertionError(f"left of a run that was killed: {found}")
    world.start("resume", "runs/r")


def resume_failed(world: World) -> None:
    """Run again the jobs that failed."""
    world.wait()
    world.start("resume", "runs/r", "--failed")


@contextmanager
def model(world: World, slug: str, *, timeout: float = 120.0, **settings: Any) -> Iterator[None]:
    """Serve a model that fails so, to an agent that asks it once."""
    own = world.folder / "agent"
    own.mkdir()
    (own / "main.sh").write_text(PROGRAM)
    with FakeOpenAI(**settings) as server:
        prices = {"scripted": {"prompt": 1.0, "completion": 2.0}}
        llm = {
            "provider": "openai",
            "model": "scripted",
            "base_url": server.base_url,
            "prices": prices,
            "timeout": timeout,
        }
        world.config |= {"mode": "real", "llm": llm}
        world.options[slug] = {
            "agent": "folder",
            "agent_folder": str(own),
            "agent_command": "sh /agent/main.sh",
            "optimize": "extra_instructions",
        }
        yield


def failing(**settings: Any) -> Callable[[World, str], Any]:
    """Return what serves such a model."""
    return lambda world, slug: model(world, slug, **settings)


@contextmanager
def small_runs(world: World, _: str) -> Iterator[None]:
    """Let the folder of runs have 6 MB."""
    world.runs.mkdir()
    with mounted(world.runs, "6m"):
        world.own_mounts.add(str(world.runs))
        yield


@contextmanager
def small_store(world: World, _: str) -> Iterator[None]:
    """Let the store have 1 MB: an image of busybox does not fit."""
    world.store = world.folder / "store"
    world.store.mkdir()
    with mounted(world.store, "1m"):
        world.own_mounts.add(str(world.store))
        yield


@contextmanager
def mounted(place: Path, size: str) -> Iterator[None]:
    """Put a file system of a size in a place; needs root."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def make_room(world: World) -> None:
    """Wait for the end of a run whose disk is full, make room, and go on with it."""
    world.wait()
    subprocess.run(["mount", "-o", "remount,size=500m", str(world.runs)], check=True)
    world.start("resume", "runs/r", "--failed")


def image(make: Callable[[Path], str]) -> Callable[[World, str], Any]:
    """Return what makes the image that the task knows as `made-…`, in a folder of its own."""

    @contextmanager
    def around(world: World, slug: str) -> Iterator[None]:
        folder = world.folder / f"image-{slug}"
        folder.mkdir()
        world.images[f"made-{slug}"] = make(folder)
        yield

    return around


def damaged(change: Callable[[bytes], bytes]) -> Callable[[Path], str]:
    """Return what makes an image whose largest layer is changed."""

    def make(folder: Path) -> str:
        layout = busybox(folder / "damaged")
        layer = max((layout / "blobs/sha256").iterdir(), key=lambda path: path.stat().st_size)
        layer.write_bytes(change(layer.read_bytes()))
        return f"{layout}:1"

    return make


def layered(*entries: Callable[[Path], tarfile.TarInfo]) -> Callable[[Path], str]:
    """Return what makes an image with one more layer."""
    return lambda folder: with_layer(busybox(folder / "layered"), [made(folder) for made in entries], tag="layered")


def _nothing_outside(world: World) -> Iterator[str]:
    yield from (f"{path} was written outside" for path in world.folder.glob("image-*/outside/*"))


def _outside(folder: Path) -> Path:
    place = folder / "outside"
    place.mkdir(exist_ok=True)
    place.chmod(0o777)
    return place


def _by_dots(folder: Path) -> tarfile.TarInfo:
    return entry(f"{'../' * 12}{_outside(folder)}/by-dots", size=1)


def _link_out(folder: Path) -> tarfile.TarInfo:
    return entry("leads-out", tarfile.SYMTYPE, to=str(_outside(folder)))


def _by_link(_: Path) -> tarfile.TarInfo:
    return entry("leads-out/by-link", size=1)


def _stolen(folder: Path) -> tarfile.TarInfo:
    secret = folder / "secret"
    secret.write_text("s3cret")
    return entry("stolen", tarfile.LNKTYPE, to=f"{'../' * 12}{secret}")


def _disk(_: Path) -> tarfile.TarInfo:
    made = entry("dev/sda", tarfile.BLKTYPE)
    made.devmajor, made.devminor = 8, 0
    return made


def _setuid(_: Path) -> tarfile.TarInfo:
    made = entry("bin/becomes-root", size=1)
    made.mode = 0o4755
    return made


def _no_root_of_ours(world: World) -> Iterator[str]:
    found = [*world.store.glob("roots/*/rootfs/bin/becomes-root")]
    if not found:
        yield "the image was not unpacked"
    for path in found:
        with suppress(FileNotFoundError):
            if path.stat().st_uid == 0 and os.getuid() == 0:
                yield f"{path.name} is set to this machine's own root"


SOLVED = {"solved": "touch /app/done", "check": DONE}
MADE = {**SOLVED, "more": 'docker_image = "made-SLUG"\nworkdir = "/app"\n'}
STARTED_FROM = {**SOLVED, "dockerfile": "FROM made-SLUG\nWORKDIR /app\n"}
SLOWLY = {"solved": WORKS, "check": DONE}
ASKS = {"check": DONE, "agent_seconds": 40.0}
LASTS = "sleep SOME; sleep SOME; sleep SOME; sleep SOME; sleep SOME; sleep SOME; sleep SOME; sleep SOME; sleep SOME"
KILLED, MODEL, DISK, IMAGE, TAKES = "kill -9 of", "the agent's model", "a full disk:", "an image", "a container"

FAULTS = (
    Fault(KILLED, "the run, which is resumed", "1", befall=stop_runner, task=SLOWLY, alone=True),
    Fault(
        KILLED, "the job's process, which `resume --failed` measures", "1", "killed by SIGKILL", kills=job, afterwards=resume_failed,
        task=SLOWLY,
    ),
    Fault(KILLED, "Harbor", "again", kills=above("harbor run"), task=SLOWLY),
    Fault(KILLED, "the process that holds the sandbox", "again", kills=holder, task=SLOWLY),
    Fault(KILLED, "the child of that", "again", kills=lambda pid: children(holder(pid))[0], task=SLOWLY),
    Fault(KILLED, "the container's first process", "again", kills=lambda pid: _first(holder(pid)), task=SLOWLY),
    Fault(KILLED, "what carries a command into the container", "0", kills=above("relay.py"), task=SLOWLY),
    Fault(KILLED, "the agent, here the task's own solution", "0", kills=lambda pid: parents(pid)[0], task=SLOWLY),
    Fault(
        KILLED, "what prepares the image", "again", kills=above("oci.prepare"),
        task={**SOLVED, "dockerfile": "FROM base\nRUN sleep SOME\nWORKDIR /app\n"},
    ),
    Fault(MODEL, "answers nobody", "nothing", "model was away", around=failing(rates={"drop": 1.0}), task=ASKS, alone=True),
    Fault(MODEL, "answers with errors", "nothing", "model was away", around=failing(rates={"500": 1.0}), task=ASKS, alone=True),
    Fault(
        MODEL, "does not answer within `llm.timeout`", "nothing", "model was away", around=failing(rates={"hang": 1.0}, timeout=3.0),
        task=ASKS, alone=True,
    ),
    Fault(
        MODEL, "does not answer before the agent's time is over, which is shorter than `llm.timeout`: its work counts as it stands", "0",
        "out of time", around=failing(rates={"hang": 1.0}), task=ASKS, alone=True,
    ),
    Fault(MODEL, "takes 5 s for an answer", "1", around=failing(delay=5.0), task=ASKS, alone=True),
    Fault(
        DISK, "that of the runs; the run ends, and `resume --failed` measures all once it has room", "1", "cannot be written",
        afterwards=make_room,
        around=small_runs, alone=True,
        task={"solved": "head -c 20m /dev/zero > /logs/agent/much; touch /app/done", "check": DONE},
    ),
    Fault(
        DISK, "that of the images", "nothing", "MB left|no space left", around=small_store, task=SLOWLY, alone=True, sound="not measured",
    ),
    Fault(IMAGE, "whose layer is cut off", "nothing", "cannot be had", around=image(damaged(lambda text: text[:-999])), task=MADE),
    Fault(
        IMAGE, "whose layer is not of its digest", "nothing", "[Dd]igest did not match",
        around=image(damaged(lambda text: text[:500] + bytes(9) + text[509:])), task=MADE,
    ),
    Fault(
        IMAGE, "with files whose names lead out of it: they lie within it", "1",
        around=image(layered(_by_dots, _link_out, _by_link)), after=_nothing_outside, task=MADE,
    ),
    Fault(
        IMAGE, "with such files, as the `FROM` of a Dockerfile", "nothing", "buildah", around=image(layered(_by_dots, _link_out, _by_link)),
        after=_nothing_outside, task=STARTED_FROM,
    ),
    Fault(IMAGE, "with a hard link to a file of this machine", "nothing", "umoci", around=image(layered(_stolen)), task=MADE),
    Fault(
        IMAGE, "with a device node: it is an empty file", "1", around=image(layered(_disk)),
        task={**MADE, "check": "test ! -b /dev/sda && test -e /app/done"},
    ),
    Fault(
        IMAGE, "with a program that becomes root: the container's root", "1", around=image(layered(_setuid)), after=_no_root_of_ours,
        task={**MADE, "check": "test -u /bin/becomes-root && test -e /app/done"},
    ),
    Fault(
        IMAGE, "larger than `image_mb`", "nothing", "unpacks to more than",
        around=image(layered(lambda _: entry("zeros", size=30 << 20))), task=MADE,
    ),
    Fault(IMAGE, "that is away", "nothing", "cannot be had", around=image(lambda _: "docker://127.0.0.1:9/gone"), task=MADE),
    Fault(TAKES, "forks without end", "nothing", "RewardFileNotFound|in use", task={"solved": FORKS, "check": DONE}),
    Fault(
        TAKES, "takes more memory than `memory_mb`", "0",
        task={"solved": "head -c 700m /dev/zero | tail -c 699m > /dev/null && touch /app/done", "check": DONE},
    ),
    Fault(
        TAKES, "writes more than `storage_mb`", "nothing", "its disk is full",
        task={"solved": "head -c 80m /dev/zero > /big && touch /app/done", "check": DONE, "more": "storage_mb = 64\n"},
    ),
    Fault(
        TAKES, "whose agent ignores that its time is over: its work counts as it stands", "1",
        task={"solved": f"trap '' TERM INT HUP; touch /app/done; {LASTS}", "check": DONE, "agent_seconds": 10.0},
    ),
    Fault(
        TAKES, "whose tests ignore that their time is over", "nothing", "VerifierTimeout",
        task={"check": f"trap '' TERM INT HUP; {LASTS}", "agent_seconds": 10.0},
    ),
    Fault(
        TAKES, "leaves processes in sessions of their own", "1",
        task={"solved": f"/bin/busybox setsid sh -c 'trap \"\" TERM HUP; {LASTS}' & touch /app/done", "check": DONE},
    ),
    Fault(TAKES, "prints without end", "0", task={"solved": "/bin/busybox yes", "check": DONE, "agent_seconds": 10.0}),
)  # fmt: skip
