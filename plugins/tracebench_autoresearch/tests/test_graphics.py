"""Graphics processors and other devices of an experiment: bound into its box, one measurement at a time, refused in words where they lack.

No graphics processor is needed: nodes of the kernel's own devices lie under NVIDIA's names. Whoever reaches `full` is told that it is
full.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from plugins.tracebench_autoresearch.tests.dials import write

from tracebench_autoresearch.evaluation.box import run_in_box
from tracebench_autoresearch.evaluation.graphics import Graphics, Machine, cards, taken
from tracebench_autoresearch.experiment import Command
from tracebench_autoresearch.sources.snapshot import Entry, Snapshot
from tracebench_core.contracts import NotMeasured
from tracebench_engine.api import evaluate_task
from tracebench_sandbox import open_sandbox

FULL, NULL, ZERO = 7, 3, 5
"""Minor numbers of the kernel's memory devices, whose major number is 1."""
NODES = {"nvidia0": FULL, "nvidia1": FULL, "nvidiactl": NULL, "nvidia-uvm": ZERO}


def named(folder: Path, *, nodes: bool) -> Machine:
    """Return a machine of two cards, whose nodes are real devices or, for what only reads names, empty files."""
    devices = folder / "dev"
    devices.mkdir()
    for name, minor in NODES.items():
        if not nodes:
            (devices / name).touch()
            continue
        try:
            os.mknod(devices / name, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
            (devices / name).chmod(0o666)
            (devices / name).read_bytes() if minor == NULL else None
        except OSError as err:
            pytest.skip(f"no device nodes can be made here: {err.strerror}")
    for number, uuid in enumerate(("GPU-aa11", "GPU-bb22")):
        place = folder / f"cards/0000:0{number}:00.0"
        place.mkdir(parents=True)
        (place / "information").write_text(f"Model: \t\t Some card\nGPU UUID: \t {uuid}\nDevice Minor: \t {number}\n")
    return Machine(devices, folder / "cards")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.parametrize(
    ("visible", "seen"),
    [
        (None, "0 1"),
        ("1,0", "1 0"),
        ("1", "1"),
        ("GPU-bb22", "1"),
        ("GPU-b,0", "1 0"),
        ("0,7,1", "0"),
        ("0,0,1", "0"),
        ("", ""),
        ("-1", ""),
        ("GPU-", ""),
    ],
)
def test_cuda_visible_devices_leaves_what_cuda_would_see(tmp_path: Path, visible: str | None, seen: str) -> None:
    machine = named(tmp_path, nodes=False)

    assert [card.node.name.removeprefix("nvidia") for card in cards(machine, visible)] == seen.split()


def test_a_driver_that_tells_no_names_is_asked_by_place(tmp_path: Path) -> None:
    machine = named(tmp_path, nodes=True)._replace(cards=tmp_path / "nothing")

    with taken(2, lambda: None, machine) as graphics:
        assert dict(graphics.environ)["CUDA_VISIBLE_DEVICES"] == "0,1"


def test_what_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = named(tmp_path, nodes=False)

    with pytest.raises(NotMeasured, match=r"`gpus: 3` are needed, and `.*dev` has 2$"), taken(3, lambda: None, machine):
        pass
    with (
        pytest.raises(NotMeasured, match=r"nvidiactl` is not there: `nvidia-modprobe"),
        taken(1, lambda: None, machine),
    ):
        pass
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(NotMeasured, match="CUDA_VISIBLE_DEVICES= leaves"), taken(1, lambda: None, machine):
        pass
    with taken(0, lambda: None, machine) as graphics:
        assert graphics == Graphics()


def test_a_box_has_the_card_that_was_taken_and_no_other(tmp_path: Path) -> None:
    """The other card, and the terminal driver, are out of reach; without `gpus` both cards are."""
    machine = named(tmp_path, nodes=True)
    script = (
        "for d in nvidia0 nvidia1 nvidiactl; do echo x > $1/$d && echo $d written; done; echo $CUDA_VISIBLE_DEVICES"
    )
    files = Snapshot("", {"a.sh": Entry("100644", script.encode())})
    command = Command.model_validate({"command": f"sh a.sh {machine.devices}", "gpus": 1, "exit_codes": []})
    said = {}
    with open_sandbox() as sandbox:
        for held in (0, 1):
            with taken(held, lambda: None, machine), taken(1, lambda: None, machine) as mine:
                ran = run_in_box(sandbox, command, files, stdin="", seed=1, seconds=20, graphics=mine)
            said[held] = ran.stdout, ran.stderr
        bare = run_in_box(sandbox, command, files, stdin="", seed=1, seconds=20)

    for held, uuid in ((0, "GPU-aa11"), (1, "GPU-bb22")):
        printed, errors = said[held]
        assert printed == f"nvidiactl written\n{uuid}\n"
        assert f"nvidia{1 - held}: Permission denied" in errors or f"nvidia{1 - held}: Read-only" in errors
        assert f"nvidia{held}: " not in errors, "it was opened, and then said that it is full"
        assert "I/O error" in errors or "No space left" in errors
    assert bare.stdout == "\n"
    assert "I/O error" not in bare.stderr


HOLDER = """
import sys, time
from pathlib import Path
from tracebench_autoresearch.evaluation.graphics import Machine, taken
with taken(int(sys.argv[3]), lambda: None, Machine(Path(sys.argv[1]), Path(sys.argv[2]))) as graphics:
    print(graphics.environ[0][1], flush=True)
    time.sleep(600)
"""


def test_measurements_take_turns_and_a_killed_one_holds_nothing(tmp_path: Path) -> None:
    machine = named(tmp_path, nodes=True)
    started = [sys.executable, "-c", HOLDER, *map(str, machine)]
    with subprocess.Popen([*started, "1"], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "GPU-aa11\n"
        with taken(1, lambda: None, machine) as graphics:
            assert graphics.devices[0].endswith("nvidia1")
        asked: list[int] = []

        def check() -> None:
            asked.append(1)
            if len(asked) == 2:
                first.send_signal(signal.SIGKILL)

        with taken(2, check, machine) as graphics:
            assert dict(graphics.environ)["CUDA_VISIBLE_DEVICES"] == "GPU-aa11,GPU-bb22"
        assert len(asked) >= 2, "nobody waited"

        def give_up() -> None:
            raise TimeoutError

        with taken(1, give_up, machine), pytest.raises(TimeoutError), taken(2, give_up, machine):
            pass


def test_an_experiment_names_devices_and_its_box_has_these(tmp_path: Path) -> None:
    script = "dd if=/dev/full of=/dev/full bs=1 count=1 2>&1 | tail -n 4\necho m: 1\n"
    for name, devices in (("with", ["/dev/full"]), ("without", [])):
        run = {"command": "sh a.sh", "devices": devices}
        write(tmp_path, name, {"editable": ["a.sh"], "run": run, "metric": {"name": "m"}}, {"a.sh": script})

    said = {name: evaluate_task(f"autoresearch:{name}", root=tmp_path)[0].text for name in ("with", "without")}

    assert "No space left on device" in said["with"]
    assert "No space left on device" not in said["without"]
    assert "failed to open '/dev/full'" in said["without"], said["without"]


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ({"devices": ["/dev/no-such-card"]}, "path `/dev/no-such-card`"),
        ({"gpus": 1}, "gpu `1`"),
    ],
)
def test_a_machine_without_the_device_leaves_the_experiment_out_with_the_reason(
    tmp_path: Path, run: dict[str, object], words: str
) -> None:
    if Path("/dev/nvidia0").exists():
        pytest.skip("this machine has a graphics processor")
    experiment = {"editable": ["a.sh"], "run": {"command": "sh a.sh", **run}, "metric": {"name": "m"}}
    write(tmp_path, "mine", experiment, {"a.sh": "echo m: 1\n"})
    listed = [sys.executable, "-m", "tracebench_engine.cli", "list-tasks", "autoresearch:mine"]

    done = subprocess.run([*listed, "--root", str(tmp_path)], capture_output=True, text=True, check=False)

    assert words in done.stdout + done.stderr


def test_nvidia_smi_alone_is_no_graphics_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose driver answers and whose nodes are not there, as in a container, measures nothing and says why."""
    if Path("/dev/nvidia0").exists():
        pytest.skip("this machine has a graphics processor")
    (tmp_path / "bin").mkdir()
    smi = tmp_path / "bin/nvidia-smi"
    smi.write_text("#!/bin/sh\necho Some card\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{smi.parent}:{os.environ['PATH']}")
    run = {"command": "sh a.sh", "gpus": 1}
    write(
        tmp_path / "root", "mine", {"editable": ["a.sh"], "run": run, "metric": {"name": "m"}}, {"a.sh": "echo m: 1\n"}
    )
    program = """
    import sys
    from pathlib import Path
    from tracebench_engine.api import evaluate_task
    (feedback,) = evaluate_task("autoresearch:mine", root=Path(sys.argv[1]))
    print(feedback.status, feedback.text)
    """

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "root")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert "`gpus: 1` are needed, and `/dev` has 0" in done.stdout + done.stderr
