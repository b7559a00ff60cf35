"""How an experiment ends: measured, crashed, timed out, without a metric, refused; each in words of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from plugins.tracebench_autoresearch.tests.dials import write, write_dial

from tracebench_core.specs import Feedback
from tracebench_engine.api import evaluate_task

FASTER = """from collections import Counter
    seen = Counter()
    for n in numbers:
        count += seen[total - n]
        seen[n] += 1
    return count
    for i in []:"""
DIAL = "rate=5\nflavour=plain\ncrash=\nhang=\nsilent=\n"


def evaluate(root: Path, files: dict[str, str] | None = None, name: str = "dial", **options: object) -> Feedback:
    values = None if files is None else {"files": files}
    (feedback,) = evaluate_task(f"autoresearch:{name}", values, root=root, eval_kwargs=options)
    return feedback


def test_the_last_match_counts_and_lower_is_better(tmp_path: Path) -> None:
    write_dial(tmp_path, noise=0)

    feedback = evaluate(tmp_path)

    assert (feedback.status, feedback.score) == ("ok", -5.0)
    assert (feedback.metrics["loss"], feedback.metrics["memory_mb"]) == (5.0, 50.0)
    assert "lower is better" in feedback.text


@pytest.mark.parametrize(
    ("old", "new", "status", "words"),
    [
        ("crash=", "crash=1", "error", ("crashed", "exit code 3", "cannot go on")),
        ("hang=", "hang=1", "timeout", ("timed out", "after 1 s", "a first guess")),
        ("rate=5", "rate=20", "invalid", ("guard failed", "`memory_mb` is 200; it must be at most 100")),
        ("rate=5", "exit 0", "invalid", ("no metric", "`loss` is not in the output")),
        ("rate=5", "echo loss: nan; exit 0", "invalid", ("no metric", "`loss` is nan")),
        ("rate=5", "echo loss: -1.7e308; exit 0", "invalid", ("no metric", "`loss` is -1.7e+308, and nothing beyond")),
        ("rate=5", "echo loss: 1; echo memory_mb: -1e308; exit 0", "invalid", ("`memory_mb` is guarded",)),
        ("rate=5", "yes loss: 1 | head -n 1000000; exit 0", "invalid", ("guard failed", "`memory_mb` is guarded")),
        ("rate=5", "sed -i 's/99/0/' score.sh; rate=5", "ok", ("measured",)),
    ],
)
def test_every_end_has_its_words(tmp_path: Path, old: str, new: str, status: str, words: tuple[str, ...]) -> None:
    write_dial(tmp_path, noise=0)

    feedback = evaluate(tmp_path, {"dial.txt": DIAL.replace(old, new)}, seconds=1.0 if "hang" in old else 10.0)

    assert feedback.status == status
    assert all(word in feedback.text for word in words), feedback.text


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"dial.txt": DIAL, "score.sh": "echo loss: 0"}, "`score.sh` may not be edited"),
        ({}, "`dial.txt` must stay"),
        ({"dial.txt": DIAL, "dial.txt.d/x": ""}, "may not be edited"),
    ],
)
def test_files_that_may_not_be_edited_are_refused(tmp_path: Path, files: dict[str, str], words: str) -> None:
    write_dial(tmp_path)

    feedback = evaluate(tmp_path, files)

    assert (feedback.status, "refused" in feedback.text, words in feedback.text) == ("invalid", True, True)


def test_what_a_candidate_leaves_behind_never_reaches_the_evaluation(tmp_path: Path) -> None:
    write(
        tmp_path,
        "two",
        {
            "editable": ["make.sh"],
            "hidden": ["answer.txt"],
            "run": {"command": "sh make.sh", "outputs": ["out.txt"]},
            "evaluate": {"command": "sh judge.sh", "stdin": "answer.txt"},
            "metric": {"name": "right", "kind": "json", "path": "found.0"},
            "guards": ["sh -n make.sh"],
        },
        {
            "make.sh": "echo 7 > out.txt\n",
            "judge.sh": "printf '{\"found\": [%s]}' $(($(cat out.txt) == $(cat)))\n",
            "answer.txt": "42\n",
        },
    )
    cheat = "echo 'echo {\\\"found\\\": [9]}' > judge.sh; cat answer.txt; ls > out.txt; echo 42 > out.txt; echo '{\"found\": [5]}'\n"

    assert evaluate(tmp_path, name="two").score == 0.0
    assert evaluate(tmp_path, {"make.sh": cheat}, name="two").score == 1.0
    assert "guard failed" in evaluate(tmp_path, {"make.sh": "if"}, name="two").text
    for nothing in ("true\n", "mkdir out.txt\n", "mkfifo out.txt\n", "ln -s judge.sh out.txt\n"):
        told = evaluate(tmp_path, {"make.sh": nothing}, name="two")
        assert (told.status, "`run` left no plain file `out.txt`" in told.text) == ("invalid", True), told.text


@pytest.mark.parametrize(
    ("kind", "script", "score"),
    [
        ("pytest", "echo '==== 1 failed, 3 passed in 0.1s ===='; exit 1", 0.75),
        ("coverage", "echo 'TOTAL    120   30   75%'", 75.0),
        ("exit_code", "exit 7", 7.0),
    ],
)
def test_the_other_ways_to_find_a_metric(tmp_path: Path, kind: str, script: str, score: float) -> None:
    experiment = {
        "editable": ["a.sh"],
        "run": {"command": "sh a.sh", "exit_codes": []},
        "metric": {"name": "m", "kind": kind},
    }
    write(tmp_path, "other", experiment, {"a.sh": f"{script}\n"})

    assert evaluate(tmp_path, name="other").score == score


def test_a_metric_may_worsen_by_so_much_against_the_initial_files(tmp_path: Path) -> None:
    experiment = {
        "editable": ["a.sh"],
        "run": "sh a.sh",
        "metric": {"name": "gain"},
        "metrics": [
            {"name": "memory", "direction": "minimize", "may_worsen": 10},
            {"name": "quality", "may_worsen": 0},
        ],
    }
    said = "echo gain: {}; echo memory: {}; echo quality: {}\n"
    write(tmp_path, "guarded", experiment, {"a.sh": said.format(1, 100, 5)})

    def status(*numbers: float) -> tuple[str, str]:
        feedback = evaluate(tmp_path, {"a.sh": said.format(*numbers)}, name="guarded")
        return feedback.status, feedback.text

    assert status(2, 110, 5)[0] == status(2, 1, 9)[0] == "ok"
    refused, words = status(2, 111, 5)
    assert (refused, "`memory` is 111, and 100 for the initial files; it may be 10 % worse" in words) == (
        "invalid",
        True,
    )
    assert "`quality` is 4.9" in status(2, 100, 4.9)[1]
    assert (
        "`memory` is guarded and was not reported"
        in evaluate(tmp_path, {"a.sh": "echo gain: 2\n"}, name="guarded").text
    )


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("no-such-program --flag\n", "crashed"),
        ("echo m: 1; sleep 60\n", "timed out"),
        ("echo m: plenty\n", "`m` is not in the output"),
        ("head -c 200000000 /dev/zero > big\n", "crashed"),
    ],
)
def test_a_metric_that_is_too_late_missing_or_beside_a_full_folder_does_not_count(
    tmp_path: Path, script: str, words: str
) -> None:
    write(tmp_path, "odd", {"editable": ["a.sh"], "run": "sh a.sh", "metric": {"name": "m"}}, {"a.sh": "echo m: 1\n"})

    feedback = evaluate(tmp_path, {"a.sh": script}, name="odd", seconds=2 if words == "timed out" else 60)

    assert feedback.status != "ok"
    assert words in feedback.text


def test_a_command_that_is_missing_is_named(tmp_path: Path) -> None:
    write(tmp_path, "none", {"editable": ["a"], "run": "no-such-program", "metric": {"name": "m"}}, {"a": "1\n"})

    feedback = evaluate(tmp_path, name="none")

    assert feedback.status == "error"
    assert "no-such-program" in feedback.text
    assert "exit code 127" in feedback.text


@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ("echo m: $EXPERIMENT_SEED; cat > out.txt", "ok", "m 7"),
        ("(sleep 60 & echo m: 1; wait)", "timeout", "ended after 1 s"),
        ("exit 3", "error", "exit code 3"),
        ("ln -s /etc/passwd out.txt; echo m: 1", "invalid", "out.txt"),
    ],
)
def test_a_command_outside_of_the_sandbox_ends_with_all_that_it_started(
    tmp_path: Path, script: str, status: str, words: str
) -> None:
    """The judge prints what it is given as the metric; a link that is left in place of the output is not followed."""
    experiment = {
        "editable": ["a.sh"],
        "run": {"command": "sh a.sh", "outside": True, "outputs": ["out.txt"], "stdin": "given.txt", "gpus": 0},
        "evaluate": "cat out.txt",
        "metric": {"name": "m"},
    }
    write(tmp_path, "free", experiment, {"a.sh": script + "\n", "given.txt": "m: 7\n"})

    feedback = evaluate(tmp_path, name="free", seconds=1 if status == "timeout" else 20)

    assert feedback.status == status
    assert words in feedback.text


@pytest.mark.heavy("autoresearch")
@pytest.mark.parametrize(
    "forgery",
    [
        "print('coverage: 100')\nimport os\nos._exit(0)\n",
        "import json, os\njson.dump([], open('calls.json', 'w'))\nprint('coverage: 100')\nos._exit(0)\n",
        "open('replay.py', 'w').write('print(\"coverage: 100\")')\nopen('shop/prices.py', 'w').write('')\n",
        "import sys\nprint('coverage: 100')\nfor name in list(sys.modules):\n    sys.modules[name].lines_of = lambda code: [1]\n",
    ],
)
def test_tests_cannot_claim_lines_that_they_do_not_run(forgery: str) -> None:
    forged = evaluate_task("autoresearch:coverage", {"files": {"test_shop.py": forgery}})[0]

    assert forged.status != "ok" or forged.score < 40, forged.text


def test_binary_files_programs_and_links_reach_the_box(tmp_path: Path) -> None:
    experiment = {"editable": ["a.sh"], "run": "sh a.sh", "metric": {"name": "bytes"}}
    write(
        tmp_path,
        "odd",
        experiment,
        {"a.sh": "./go; ls -a | grep -c tar\n:", "go": "#!/bin/sh\necho bytes: $(cat link | wc -c)\n"},
    )
    (tmp_path / "odd/go").chmod(0o755)
    (tmp_path / "odd/data.bin").write_bytes(os.urandom(1000))
    (tmp_path / "odd/link").symlink_to("data.bin")

    assert evaluate(tmp_path, name="odd").score == 1000.0


def test_a_broken_experiment_stays_listed_with_its_reason(tmp_path: Path) -> None:
    write(tmp_path, "bad", {"editable": []}, {})

    with pytest.raises(Exception, match="editable"):
        evaluate(tmp_path, name="bad")


@pytest.mark.heavy("autoresearch")
@pytest.mark.parametrize(
    ("name", "path", "old", "new"),
    [
        ("unit_pass_rate", "toolbox/roman.py", "number > value", "number >= value"),
        ("coverage", "test_shop.py", "300\n", "300\n    assert prices.discount(100, 50) == 50\n"),
        ("speed", "solve.py", "for i in range(len(numbers)):", FASTER),
        ("tiny_lm", "train.py", "RATE = 0.05", "RATE = 0.2"),
    ],
)  # fmt: skip
def test_the_experiments_that_ship_measure_and_can_be_improved(name: str, path: str, old: str, new: str) -> None:
    from tracebench_autoresearch.catalog import find
    from tracebench_autoresearch.task import ExperimentTask

    initial = ExperimentTask(find(name)).parameters[0].initial
    assert isinstance(initial, dict)
    text = str(initial[path])
    assert old in text

    (before,) = evaluate_task(f"autoresearch:{name}")
    (after,) = evaluate_task(f"autoresearch:{name}", {"files": {**initial, path: text.replace(old, new)}})

    assert before.status == after.status == "ok"
    assert after.score > before.score, (before.text, after.text)
