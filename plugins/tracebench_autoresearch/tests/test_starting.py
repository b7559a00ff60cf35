"""`trace-bench autoresearch init`: what it finds, what it writes, and what it says where it finds nothing."""

from __future__ import annotations

import math
import os
import subprocess
from pathlib import Path

import pytest
import yaml
from plugins.tracebench_autoresearch.tests.dials import WITH_UV
from tests import warm

from tracebench_autoresearch.experiment import FILE, read_experiment
from tracebench_autoresearch.sources.snapshot import Entry, Snapshot
from tracebench_autoresearch.starting.finding import find_layout, find_metric
from tracebench_autoresearch.starting.power import smallest_gain
from tracebench_autoresearch.starting.writing import choose_folder
from tracebench_core.errors import UsageError

TRAIN = """
import argparse, random
options = argparse.ArgumentParser()
options.add_argument("--seed", type=int)
random.seed(options.parse_args().seed)
print("epoch: 3")
print("train_loss:", random.gauss(1, 0.1))
print("val_loss:", random.gauss(2, 0.1))
"""


def init(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return warm.trace_bench("autoresearch", "init", *words, folder=folder, environ=os.environ, timeout=300)


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *who, "-C", str(folder), *words], check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    (folder / "evaluate.py").write_text("print('nothing')\n")
    (folder / "requirements.txt").write_text("# nothing\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.mark.timeout(300)
def test_an_experiment_is_found_tried_and_written(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", WITH_UV)
    (repo / "evaluate.py").write_text("print('not committed')\n")

    (repo / "train.py").write_text("raise SystemExit\n")
    refused = init(tmp_path, "mine").stderr
    git(repo, "checkout", "train.py")
    done = init(tmp_path, "mine", "--repeats", "3")

    assert "which is edited: commit them" in refused
    assert "what is committed is measured" not in refused
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("uncommitted changes in `evaluate.py`") == 1
    assert "50 experiments tell gains from" in done.stdout
    path = tmp_path / "experiments/mine" / FILE
    written = yaml.safe_load(path.read_text())
    assert written["run"]["command"] == "python train.py --seed {seed}"
    assert "revision" not in written
    assert written["metric"] == {"name": "val_loss", "direction": "minimize"}
    assert (written["environment"], written["shown"]) == ("requirements.txt", ["evaluate.py"])
    assert read_experiment(path).editable == ("train.py",)
    again = init(tmp_path, f"file://{repo}", "--repeats", "2", "-o", "other")
    assert again.returncode == 0, again.stderr
    assert len(yaml.safe_load((tmp_path / "other" / FILE).read_text())["revision"]) == 40
    told = init(tmp_path, "mine").stderr
    assert "is there already" in told
    assert "baseline" not in told, "the repository was measured before it was refused"


@pytest.mark.timeout(300)
def test_what_does_not_run_or_print_is_said(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/train.py").write_text("import no_such_module\n")
    crashed = init(tmp_path, "mine")
    (tmp_path / "mine/train.py").write_text("print('done')\n")
    silent = init(tmp_path, "mine")

    assert crashed.returncode == silent.returncode == 2
    assert "No module named 'no_such_module'" in crashed.stderr
    assert "No line `name: <number>` was printed" in silent.stderr
    assert "Traceback (most recent call last)" not in silent.stderr
    assert not (tmp_path / "experiments").exists()


def test_an_experiment_has_the_name_of_the_folder_however_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my work").mkdir()
    monkeypatch.chdir(tmp_path / "my work")

    for where, name in (
        (".", "my work"),
        ("..", tmp_path.name),
        ("../x/", "x"),
        ("https://a.b/c/d.git", "d"),
        ("/", "mine"),
    ):
        assert choose_folder(where, None) == Path("experiments", name)
    assert choose_folder(".", Path("mine")) == Path("mine")


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("train.py", "`{}/train.py` is no folder."),
        ("gone", "The repository `{}/gone` does not exist."),
        ("git@127.0.0.1:a/b.git", "ssh://git@127.0.0.1/a/b.git"),
        ("file:///nowhere/at/all", "'/nowhere/at/all' does not"),
        ("empty", "no text file `train.py`"),
        ("binary", "no text file `train.py`"),
        ("unborn", "`{}/unborn` has no commit yet."),
    ],
)
def test_what_is_no_repository_is_told_as_what_it_is(tmp_path: Path, where: str, words: str) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    for name in ("empty", "binary", "unborn"):
        (tmp_path / name).mkdir()
    git(tmp_path / "unborn", "init", "-q")
    (tmp_path / "binary/train.py").write_bytes(bytes(range(256)))

    done = init(tmp_path, where)

    assert done.returncode == 2
    assert words.format(tmp_path) in done.stderr
    assert "Traceback" not in done.stderr


def test_what_stands_in_quotes_is_one_word_and_an_environment_is_taken_or_left() -> None:
    files = Snapshot("r", {name: Entry("100644", b"") for name in ("my work.py", "requirements.txt", "other.txt")})

    layouts = [
        find_layout(files, command="python 'my work.py'", editable=(), environment=named)
        for named in (None, "", "other.txt")
    ]
    assert {layout.editable for layout in layouts} == {("my work.py",)}
    assert [layout.environment for layout in layouts] == ["requirements.txt", "", "other.txt"]
    with pytest.raises(UsageError, match="No closing quotation"):
        find_layout(files, command="python 'my work.py", editable=())


def test_a_folder_without_a_program_is_refused_unless_one_is_named() -> None:
    files = Snapshot("r", {"mine.py": Entry("100644", b"")})

    with pytest.raises(UsageError, match="No file looks like what is run"):
        find_layout(files, command="", editable=())
    assert find_layout(files, command="python mine.py -x", editable=()).editable == ("mine.py",)


def test_the_number_that_counts_is_of_held_out_data_and_its_name_says_the_direction() -> None:
    printed = "epoch: 4\nval_accuracy = 0.9\ntrain_accuracy = 0.99\npeak_memory_mb: 7\n"

    assert find_metric(printed, name="", direction=None) == ("val_accuracy", "maximize")
    assert find_metric(printed, name="train_accuracy", direction="minimize") == ("train_accuracy", "minimize")
    printed = "accuracy: 0.9\nlearning_rate: 0.01\nelapsed_seconds: 3\n"
    assert find_metric(printed, name="", direction=None) == ("accuracy", "maximize")
    assert find_metric("elapsed_seconds: 3\n", name="", direction=None) == ("elapsed_seconds", "minimize")
    with pytest.raises(UsageError, match="whether more of it is better"):
        find_metric("zeal: 3\n", name="", direction=None)
    with pytest.raises(UsageError, match="No line `loss: <number>`"):
        find_metric(printed, name="loss", direction=None)
    with pytest.raises(UsageError, match="Nothing at all was") as silent:
        find_metric("\n", name="", direction=None)
    assert "kind: json" in silent.value.hint


def test_the_gain_that_can_be_told_grows_with_the_noise_and_with_the_experiments() -> None:
    values = [0.0, 1.0, -1.0, 0.5]

    assert smallest_gain([1.0, 1.0], experiments=50) == 0
    assert math.isinf(smallest_gain(values, experiments=100_000)), "no number of wins in 20 pairs is enough"
    assert smallest_gain([10 * v for v in values], experiments=50) == pytest.approx(
        10 * smallest_gain(values, experiments=50)
    )
    assert smallest_gain(values, experiments=2) < smallest_gain(values, experiments=2000)
