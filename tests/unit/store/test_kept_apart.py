"""What is kept apart from runs, or closed in them: keys of journals, how far these had come, salts, and what followed a training."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.store.samples import candidate, evaluation, job_spec, started

from tracebench_core.errors import RunDirError
from tracebench_core.specs.salts import Salts
from tracebench_runs.events.trained import is_sound, set_back
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.journal.journal import TrainedRecord
from tracebench_runs.journal.keys import draw_key, find_key, forget, key_file, key_folder, last_seen, see, state_folder
from tracebench_runs.meta.salt_files import (
    SHARED_FILE,
    close_secrets,
    gives_away,
    read_salts,
    secrets_of,
    shared_salts,
    write_salts,
)
from tracebench_runs.storage.layout import JobLayout, RunLayout
from tracebench_runs.storage.seal import seal_of


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_folder_of_what_outlives_runs_is_the_users(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert state_folder() == home / "state/trace-bench"
    assert key_folder() == state_folder() / "journals"
    monkeypatch.setenv("HOME", str(home))
    for given in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", given)
        assert state_folder() == home / ".local/state/trace-bench"


@pytest.mark.usefixtures("home")
def test_a_key_is_found_by_its_id_and_is_its_owners_alone() -> None:
    key, other = draw_key(), draw_key()
    assert find_key(key.id) == key != other
    assert (len(key.secret), len(key.id)) == (32, 32)
    assert key.secret.hex() not in key.id
    assert (mode(key_file(key.id)), mode(key_folder())) == (0o600, 0o700)
    assert sorted(path.name for path in key_folder().iterdir()) == sorted(f"{k.id}.key" for k in (key, other))


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("text", ["", "nope", "é", "00" * 32])
def test_a_key_that_is_not_what_its_id_says_is_none(text: str) -> None:
    key = draw_key()
    key_file(key.id).write_text(text)
    assert find_key(key.id) is None
    for id_ in ("0" * 32, "../x", "", key.id + "0", key.id.upper() + "Z"):
        assert find_key(id_) is None


def test_a_key_that_cannot_be_kept_keys_all_the_same_and_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (home / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "file"))
    with caplog.at_level(logging.WARNING):
        key = draw_key()
    assert len(key.secret) == 32
    assert (
        f"the key of the journal cannot be kept in `{home}/file/trace-bench/journals` (Not a directory)" in caplog.text
    )
    caplog.clear()
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with caplog.at_level(logging.WARNING):
        draw_key()
    assert "there is no home folder" in caplog.text


def test_how_far_a_journal_had_come_is_known_of_the_run_that_lies_there(home: Path) -> None:
    layout = RunLayout(home / "run").create()
    assert last_seen(layout, "j") is None
    see(layout, "j", n=3, head="abc", keys=("k", "l"))
    found = last_seen(layout, "j")
    assert found is not None
    assert (found.run_id, found.n, found.head, found.keys) == ("run", 3, "abc", ("k", "l"))
    assert last_seen(layout, "other") is None
    assert last_seen(RunLayout(home / "state/../run"), "j") == found
    see(layout, "j", n=4, head="abd", keys=())
    assert (last_seen(layout, "j") or found).n == 4
    layout.path.rename(home / "moved")
    assert last_seen(RunLayout(home / "moved"), "j") is None
    forget(layout, "j")
    forget(layout, "j")
    assert last_seen(layout, "j") is None


def test_another_run_in_the_same_place_is_not_the_one_that_was_seen(home: Path) -> None:
    layout = RunLayout(home / "run").create()
    see(layout, "j", n=3, head="abc", keys=("k",))
    (file,) = key_folder().iterdir()
    text = file.read_text()
    for other in (text.replace('"run"', '"ran"'), text.replace("3", '"x"'), "[]", "{", "{}"):
        file.write_text(other)
        assert last_seen(layout, "j") is None
    file.write_text(text)
    assert last_seen(layout, "j") is not None


def test_where_nothing_can_be_kept_nothing_is_known(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "file"))
    layout = RunLayout(home / "run").create()
    see(layout, "j", n=3, head="abc", keys=())
    forget(layout, "j")
    assert last_seen(layout, "j") is None


def test_a_folders_salts_are_drawn_once_and_closed_to_others(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    assert shared_salts(runs, draw=False) is None
    assert not runs.exists()
    drawn = shared_salts(runs, draw=True)
    assert drawn is not None
    assert shared_salts(runs, draw=True) == shared_salts(runs, draw=False) == drawn
    assert [path.name for path in runs.iterdir()] == [SHARED_FILE]
    (runs / SHARED_FILE).chmod(0o644)
    shared_salts(runs, draw=False)
    assert mode(runs / SHARED_FILE) == 0o600


def test_salts_that_cannot_be_read_or_made_are_refused_and_not_repeated(tmp_path: Path) -> None:
    file = tmp_path / "salts of"
    file.write_text('{"test": "secret"}')
    with pytest.raises(RunDirError, match="holds no salts") as caught:
        read_salts(file)
    assert "secret" not in str(caught.value)
    assert caught.value.hint == f"rm '{file}'"
    assert read_salts(tmp_path / "none") is None
    assert read_salts(file / "below") is None
    with pytest.raises(RunDirError, match=r"cannot be read: it is no regular file\.$"):
        read_salts(tmp_path)
    with pytest.raises(RunDirError, match=r"cannot be made: File exists\.$") as made:
        shared_salts(file, draw=True)
    assert made.value.hint == "trace-bench run --runs-dir DIR, or `salt: public`"


def test_of_processes_that_draw_at_a_time_one_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Salts.draw()

    def link(_drawn: Path, path: Path) -> None:
        path.write_text(first.model_dump_json())
        raise FileExistsError

    monkeypatch.setattr(os, "link", link)
    assert shared_salts(tmp_path, draw=True) == first
    assert [path.name for path in tmp_path.iterdir()] == [SHARED_FILE]


@pytest.mark.parametrize(
    ("config", "gives"),
    [
        ("salt: " + "a1" * 16, True), (f"a: 1\nsalt:   '{'0f' * 32}'\n", True), ("salt: public", False), ("salt: " + "a" * 31, False),
        ("  salt: " + "a1" * 16, False), ("# salt: " + "a1" * 16, False),
    ],
)  # fmt: skip
def test_what_gives_a_runs_salts_away_is_closed(tmp_path: Path, config: str, gives: bool) -> None:
    layout = RunLayout(tmp_path / "run").create()
    for file in (layout.config_snapshot, layout.mirror):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(config)
        file.chmod(0o644)
    assert gives_away(layout, layout.config_snapshot, config.encode()) is gives
    assert not gives_away(layout, layout.manifest, config.encode())
    assert secrets_of(layout) == ([layout.config_snapshot, layout.mirror] if gives else [])
    close_secrets(layout)
    assert {mode(file) for file in (layout.config_snapshot, layout.mirror)} == {0o600 if gives else 0o644}
    salts = Salts.draw()
    write_salts(layout, salts)
    assert (read_salts(layout.salts), mode(layout.salts)) == (salts, 0o600)
    assert layout.salts in secrets_of(layout)


Training = Callable[..., tuple[JobLayout, TrainedRecord]]


@pytest.fixture
def trained(tmp_path: Path) -> Training:
    def train(version: str = "1.2.3", text: str = "long " * 1000) -> tuple[JobLayout, TrainedRecord]:
        writer = EventWriter(RunLayout(tmp_path).create().job(job_spec().job_id).fresh())
        for event in (started(versions={"plugin": version}), candidate("c0", values={"text": text}), evaluation("c0")):
            writer.write(event)
        writer.close(durable=False)
        seal = seal_of(writer.layout.events)
        assert seal is not None
        return writer.layout, TrainedRecord(seal)

    return train


def test_a_training_is_gone_on_from_where_all_of_it_lies_there(trained: Training) -> None:
    layout, record = trained()
    assert is_sound(layout, job_spec(), record)
    assert not is_sound(layout, job_spec(plugin_version="1.2.4"), record)
    with layout.events.open("ab") as log:
        log.write(b"more\n")
    assert is_sound(layout, job_spec(), record)
    data = layout.events.read_bytes()
    layout.events.write_bytes(data.replace(b"e0", b"e1"))
    assert not is_sound(layout, job_spec(), record)
    layout.events.write_bytes(data[: record.events.size - 1])
    assert not is_sound(layout, job_spec(), record)


def test_a_training_of_which_a_candidate_is_lost_is_not_gone_on_from(trained: Training) -> None:
    layout, record = trained()
    for blob in [path for path in layout.blobs.rglob("*") if path.is_file()]:
        blob.unlink()
    assert not is_sound(layout, job_spec(), record)


def test_what_followed_a_training_becomes_an_attempt_of_its_own(trained: Training) -> None:
    layout, record = trained()
    head = layout.events.read_bytes()
    layout.results.write_text("{}")
    set_back(layout, record)
    assert (layout.events.read_bytes(), layout.results.exists(), layout.earlier_attempts()) == (head, False, [])
    for number in (1, 2):
        layout.events.write_bytes(head + b"\nscored\n")
        set_back(layout, record)
        assert layout.events.read_bytes() == head
        assert len(layout.earlier_attempts()) == number
        assert layout.earlier_attempts()[-1].events.read_bytes() == b"scored\n"
