"""Every file of a run is damaged in every way, and every command then gives the results of before, or says loudly that it does not.

There is no third outcome. The default run takes a small sample; `TRACEBENCH_FUZZ=30`, as `.ci/run` sets it, makes 30 damages, each
before all five commands, and `TRACEBENCH_FUZZ=all`, as `.ci/soak` sets it, damages every file in every way.

A command starts jobs only where the damage calls for them: a replay whose config and recording are those of the sound run is that run's
replay, which is done once.
"""

from __future__ import annotations

import functools
import io
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from tracebench_core.errors import TraceBenchError
from tracebench_engine import api
from tracebench_engine.cli.app import app
from tracebench_engine.config import parse_config
from tracebench_engine.run.replay import replay_of
from tracebench_runs.reading.compare import differences, without_identity
from tracebench_runs.reading.reader import load_run

SAMPLE = 4


def truncate(data: bytes) -> bytes:
    return data[: len(data) * 2 // 3]


def flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def double(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    middle = len(lines) // 2
    return b"".join([*lines[: middle + 1], *lines[middle:]])


def swap(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:-2], *reversed(lines[-2:])])


def edit(data: bytes) -> bytes:
    """Change a number, and leave everything readable."""
    return re.sub(rb"(?<=[: ])(\d)(?=[\d.,}\s])", lambda found: b"7" if found[1] != b"7" else b"8", data, count=3)


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "truncate": truncate,
    "flip": flip,
    "double": double,
    "swap": swap,
    "empty": lambda _: b"",
    "delete": lambda _: None,
    "binary": lambda data: random.Random(1).randbytes(len(data) or 64),
    "edit": edit,
}
COMMANDS = ("resume", "fsck", "repair", "show", "replay")

build_once = functools.cache(get_command)

Told = dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]
Fed = tuple[dict[str, Any], int, dict[str, bytes]]


def make_run(runs: Path) -> Path:
    """Return a recorded run of two jobs of which one has a large value."""
    config = parse_config(
        {
            "mode": "stub",
            "run_id": "sound",
            "runs_dir": str(runs),
            "tasks": ["internal:multi_param"],
            "trainers": [{"id": "SequentialRefine", "params": {"num_steps": 2}}],
            "seeds": [1, 2],
            "llm": {"record": True},
        }
    )
    return api.run(config, stream=io.StringIO()).run_dir


class Sound(NamedTuple):
    """A run as it was recorded, and what its commands say of it."""

    run_dir: Path
    told: Told
    fed: Fed
    replayed: Path


@pytest.fixture(autouse=True)
def command_line_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare each command the building of all of them, which takes longer than most."""
    monkeypatch.setattr("typer.testing._get_command", build_once)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    runs = tmp_path_factory.mktemp("fuzz")
    run_dir = make_run(runs)
    again = replay_of(run_dir, runs_dir=str(runs / "replays"))
    replayed = api.run(again.config, root=again.root, limit=again.jobs, stream=io.StringIO()).run_dir
    return Sound(run_dir, told(run_dir), fed(run_dir), replayed)


def fed(run_dir: Path) -> Fed:
    """Return all that a replay is made from: config, number of jobs, and every byte of the recording."""
    again = replay_of(run_dir, runs_dir="replays")
    recording = {
        p.relative_to(run_dir).as_posix(): p.read_bytes() for p in sorted((run_dir / "llm").rglob("*")) if p.is_file()
    }
    return again.config.model_dump(mode="json", exclude={"replay_from"}), again.jobs, recording


def told(run_dir: Path) -> Told:
    """Return what people take from a run: every result, and the best candidate with its values."""
    run = load_run(run_dir)
    best = {r.best_candidate for r in run.results.values()}
    return {
        job.job_id: (
            without_identity(run.results[job.job_id]),
            [c.model_dump() for c in run.candidates_of(job.job_id) if c.id in best],
        )
        for job in run.planned
    }


def files_of(run_dir: Path) -> Iterator[str]:
    for path in sorted(run_dir.rglob("*")):
        if path.is_file() and path.name != ".lock":
            yield path.relative_to(run_dir).as_posix()


def one_blob_each(names: list[str]) -> list[str]:
    """Keep one of the many blobs of each folder: they are all alike."""
    kept, seen = [], set()
    for name in names:
        kind = name.partition("blobs/")[0] if "blobs/" in name else name
        if kind not in seen:
            seen.add(kind)
            kept.append(name)
    return kept


def invoke(*words: str) -> tuple[int, str]:
    """Run a command in this process; return its exit code, and what it printed."""
    done = CliRunner().invoke(app, list(words))
    if done.exception is not None and not isinstance(done.exception, (SystemExit, TraceBenchError)):
        raise done.exception
    code = done.exception.exit_code if isinstance(done.exception, TraceBenchError) else done.exit_code
    return code, done.output


def outcome(command: str, run_dir: Path, sound: Sound) -> str:
    """Return `loud` or `same`; fail for anything else."""
    if command == "replay":
        return _outcome_of_replay(run_dir, sound)
    if command == "show":
        code, _ = invoke("show", str(run_dir), "--json")
        for job in sorted((run_dir / "jobs").glob("*")) if code == 0 else ():
            code = code or invoke("show", str(job), "--json")[0]
    else:
        code, _ = invoke(*{"repair": ("fsck", "--repair")}.get(command, (command,)), str(run_dir))
    if code != 0:
        return "loud"
    if command == "show":
        assert told(run_dir) == sound.told
    else:
        results = {job: without_identity(result) for job, result in load_run(run_dir).results.items()}
        assert results == {job: result for job, (result, _) in sound.told.items()}
    return "same"


def _outcome_of_replay(run_dir: Path, sound: Sound) -> str:
    try:
        if fed(run_dir) == sound.fed:
            return "loud" if list(differences(load_run(run_dir), load_run(sound.replayed))) else "same"
    except TraceBenchError:
        return "loud"
    replays = run_dir.parent / "replays"
    if invoke("replay", str(run_dir), "--runs-dir", str(replays))[0] != 0:
        return "loud"
    (replayed,) = replays.iterdir()
    assert list(told(replayed).values()) == list(sound.told.values())
    return "same"


def cases(run_dir: Path) -> list[tuple[str, str]]:
    """Return files and what is done to them, of those that change them: a sample, or as many as are asked for."""
    every = [
        (name, damage)
        for name in one_blob_each(list(files_of(run_dir)))
        for damage in DAMAGES
        if (data := (run_dir / name).read_bytes()) and DAMAGES[damage](data) != data
    ]
    asked = os.environ.get("TRACEBENCH_FUZZ", str(SAMPLE))
    return every if asked == "all" else random.Random(7).sample(every, min(int(asked), len(every)))


def damaged_copy(sound: Sound, folder: Path, name: str, damage: str) -> Path:
    run_dir = folder / "sound"
    shutil.copytree(sound.run_dir, run_dir)
    data = DAMAGES[damage]((run_dir / name).read_bytes())
    if data is None:
        (run_dir / name).unlink()
    else:
        (run_dir / name).write_bytes(data)
    return run_dir


@pytest.mark.parametrize("command", COMMANDS)
def test_of_a_sound_run_every_command_says_the_same(sound: Sound, tmp_path: Path, command: str) -> None:
    shutil.copytree(sound.run_dir, tmp_path / "sound")
    assert outcome(command, tmp_path / "sound", sound) == "same"


@pytest.mark.timeout(600)
def test_no_damage_to_any_file_changes_a_result_in_silence(sound: Sound, tmp_path: Path) -> None:
    tally = {"same": 0, "loud": 0}
    wrong = []
    for number, (name, damage) in enumerate(cases(sound.run_dir)):
        for command in COMMANDS:
            run_dir = damaged_copy(sound, tmp_path / f"{number}-{command}", name, damage)
            try:
                tally[outcome(command, run_dir, sound)] += 1
            except Exception as err:  # noqa: BLE001 - whatever a command raises is told with its case
                wrong.append((name, damage, command, f"{type(err).__name__}: {str(err)[:300]}"))
            shutil.rmtree(run_dir.parent)
    print(f"{tally['same'] + tally['loud'] + len(wrong)} cases: {tally}, wrong {len(wrong)}")
    assert wrong == []


@pytest.mark.timeout(600)
def test_every_damage_has_a_way_out_that_can_be_typed(sound: Sound, tmp_path: Path) -> None:
    """After repair, resume and accept, `fsck` is content, and the results are those of before."""
    expected = {job: result for job, (result, _) in sound.told.items()}
    wrong = []
    for number, (name, damage) in enumerate(cases(sound.run_dir)):
        run_dir = damaged_copy(sound, tmp_path / str(number), name, damage)
        codes = [
            invoke("fsck", str(run_dir), "--repair")[0],
            invoke("fsck", str(run_dir), "--accept")[0],
            invoke("resume", str(run_dir))[0],
            invoke("fsck", str(run_dir))[0],
        ]
        results = {job: without_identity(result) for job, result in load_run(run_dir).results.items()}
        if codes[1:] != [0, 0, 0] or results != expected:
            wrong.append((name, damage, codes, results == expected))
        shutil.rmtree(run_dir.parent)
    assert wrong == []
