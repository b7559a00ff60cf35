"""`regrade`: what was found is scored again under today's judge; scores are added, and `compare` takes those of one judge."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cli.conftest import brought_from, command_in, installed_in
from tests.warm import start
from tests.whole import HEAVY

from tracebench_core.specs import TaskSpec
from tracebench_engine.checks.regrading import why_not
from tracebench_gateway.turns import TRAINING

Cli = Callable[..., CompletedProcess[str]]

SUITE = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, TaskSpec, TaskVersion

class Near:
    objective = "be near to 3"
    parameters = (Parameter(name="x", initial=0.0, kind="number", minimum=-10, maximum=10),)
    splits = {"train": (Example(id="a"),), "test": (Example(id="t"),)}
    def run(self, values, example, context):
        return float(values["x"])
    def guide(self, example, output, context):
        return Feedback(score=SCALE * -abs(output - 3), text=f"off by {output - 3:g}")

class Asks(Near):
    def run(self, values, example, context):
        said = context.complete([{"role": "user", "content": ASKED + example.id}], temperature=0.5)[0].text
        return float(values["x"]) + len(said)

class Opens(Near):
    def run(self, values, example, context):
        return float(values["x"]) + len(context.endpoint().model)

SCALE = 1.0
ASKED = "Say something of "
@hookimpl
def tracebench_tasks():
    version = TaskVersion(comparability=1)
    near = TaskSpec(name="near", loader="mine:Near", title="near", version=version)
    asking = [TaskSpec(name=n.lower(), loader=f"mine:{n}", title=n, uses_model=True) for n in ("Asks", "Opens")]
    return [near, *asking]
"""
CONFIG = """
tasks: ['mine:near', 'mine:asks']
trainers: [NoOp, {id: RandomSearch, params: {num_steps: 4}}]
seeds: [1, 2]
"""


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that every test goes on from, each with a copy."""
    folder = tmp_path_factory.mktemp("first")
    found = installed_in(folder, "mine", SUITE, group="tracebench", entry="mine", target="mine")
    (folder / "c.yaml").write_text(CONFIG)
    env = {"TRACEBENCH_PLUGINS": "mine", **found}
    assert command_in(folder)("run", "--config", "c.yaml", "-o", "run_id=first", env=env).returncode == 0
    return folder


@pytest.fixture
def env(first: Path, tmp_path: Path) -> Mapping[str, str]:
    shutil.copytree(first, tmp_path, dirs_exist_ok=True)
    env = {"TRACEBENCH_PLUGINS": "mine", **brought_from(tmp_path)}
    module = tmp_path / "site" / "mine.py"
    module.write_text(SUITE.replace("SCALE = 1.0", "SCALE = 0.5").replace("comparability=1", "comparability=2"))
    return env


def test_scores_are_added_named_by_their_judge_and_compared_with_newer_runs(
    cli: Cli, env: Mapping[str, str], tmp_path: Path
) -> None:
    run = tmp_path / "runs" / "first"
    before = {path: path.read_bytes() for path in run.rglob("results.json")}
    assert cli("run", "--config", "c.yaml", "-o", "run_id=second", env=env).returncode == 0
    apart = cli("compare", "first", "second", env=env)
    assert (apart.returncode, "cannot be pooled: `comparability`" in apart.stderr) == (2, True), apart.stderr
    assert "trace-bench regrade first" in apart.stderr

    shown = cli("regrade", "first", "--task", "mine:near", "--json", env=env)

    told = json.loads(shown.stdout)["jobs"]
    assert shown.returncode == 0
    assert len(told) == 4
    for job in told:
        result = json.loads((run / "jobs" / job["job_id"] / "results.json").read_text())
        scored = {(event["what"], event["split"]): event["score"] for event in job["scored"]}
        assert scored["best", "train"] == pytest.approx(result["score_val_best"] / 2)
        assert scored["best", "test"] == pytest.approx(result["score_test"] / 2)
        assert job["judge"]["digest"] != result["judge"]["digest"]
        assert job["comparability"] == 2
    assert {path: path.read_bytes() for path in before} == before
    assert cli("fsck", "first", env=env).returncode == 0

    cli("regrade", "first", "--task", "mine:near", env=env)
    assert len((run / "regrades.jsonl").read_text().splitlines()) == 8

    alone = cli("compare", "first", "--json", env=env)
    assert any(
        "mine:near: scored by mine 1.0" in words and "4 of them regraded" in words
        for words in json.loads(alone.stdout)["judged"]
    )


def test_given_candidates_are_scored_again_and_what_cannot_be_measured_is_told(
    cli: Cli, env: Mapping[str, str], tmp_path: Path
) -> None:
    assert cli("evaluate", "mine:near", "--seeds", "2", "--run-id", "given", env=env).returncode == 0

    shown = cli("regrade", "given", env=env)
    assert (shown.returncode, shown.stdout.count("\t-1.5\t-1.5\t")) == (0, 2), shown.stderr
    assert "`compare` reads each row as it was measured" in shown.stderr

    module = tmp_path / "site" / "mine.py"
    broken = 'from tracebench_core.contracts import NotMeasured\n        raise NotMeasured("no reading")'
    module.write_text(SUITE.replace('return float(values["x"])\n', f"{broken}\n", 1))
    shown = cli("regrade", "given", env=env)
    assert shown.returncode == 1
    assert shown.stdout.count("1 of 1 evaluations could not be measured, the last because of: no reading") == 2
    assert "Traceback" not in shown.stderr


def test_one_judge_makes_runs_of_two_versions_comparable(cli: Cli, env: Mapping[str, str], tmp_path: Path) -> None:
    only = ["-o", "tasks=[mine:near]"]
    assert cli("run", "--config", "c.yaml", *only, "-o", "run_id=old", env=env).returncode == 0
    module = tmp_path / "site" / "mine.py"
    module.write_text(
        module.read_text().replace("SCALE = 0.5", "SCALE = 0.25").replace("comparability=2", "comparability=3")
    )
    assert cli("run", "--config", "c.yaml", *only, "-o", "seeds=[3, 4]", "-o", "run_id=new", env=env).returncode == 0
    assert cli("compare", "old", "new", env=env).returncode == 2

    assert cli("regrade", "old", env=env).returncode == 0
    both = cli("compare", "old", "new", "--json", env=env)

    assert both.returncode == 0, both.stderr
    document = json.loads(both.stdout)
    assert len({task["task"] for task in document["tasks"]}) == 1
    assert any("in all 8 jobs, 4 of them regraded" in words for words in document["judged"])


def test_a_later_score_that_the_journal_never_saw_counts_for_nothing(
    cli: Cli, env: Mapping[str, str], tmp_path: Path
) -> None:
    assert cli("regrade", "first", "--task", "mine:near", env=env).returncode == 0
    before = cli("compare", "first", "--json", env=env).stdout
    kept = tmp_path / "runs" / "first" / "regrades.jsonl"
    last = json.loads(kept.read_bytes().splitlines()[-1])
    for event in last["scored"]:
        event["score"] = 1e6
    with kept.open("a") as log:
        log.write(json.dumps(last) + "\n")

    assert cli("compare", "first", "--json", env=env).stdout == before


def test_a_later_score_that_was_changed_is_refused(cli: Cli, env: Mapping[str, str], tmp_path: Path) -> None:
    assert cli("regrade", "first", "--task", "mine:near", env=env).returncode == 0
    kept = tmp_path / "runs" / "first" / "regrades.jsonl"
    honest = kept.read_bytes()
    kept.write_bytes(honest.replace(b'"score":-', b'"score":', 1))
    assert kept.read_bytes() != honest

    told = cli("compare", "first", env=env)

    assert told.returncode == 2
    assert "regrades.jsonl` is not the file that the journal of the run vouches for" in told.stderr
    assert "regrades.jsonl: it is not what the journal sealed" in cli("fsck", "first", env=env).stdout
    kept.write_bytes(honest)
    assert cli("compare", "first", env=env).returncode == 0


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGKILL, -9, marks=HEAVY)])
def test_what_is_ended_in_the_middle_keeps_what_it_scored_and_can_be_done_again(
    cli: Cli, env: Mapping[str, str], tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    module = tmp_path / "site" / "mine.py"
    once = (
        "    open(WENT, 'a').write('g')\n        import time\n        time.sleep(60 * (len(open(WENT).read()) > 4))\n"
    )
    went = f"WENT = {str(tmp_path / 'went')!r}\n"
    module.write_text(
        went + module.read_text().replace("return Feedback(", f"{once.strip()}\n        return Feedback(", 1)
    )
    only = ("regrade", "first", "--task", "mine:near")
    under_way = start(*only, folder=tmp_path, environ=os.environ | env)
    assert any(line.startswith("[1/4] mine:near x NoOp seed=1: scored again") for line in under_way.stderr)
    under_way.send_signal(sent)
    _, rest = under_way.communicate(60)
    kept = (tmp_path / "runs" / "first" / "regrades.jsonl").read_text().splitlines()
    assert under_way.returncode == code
    assert 1 <= len(kept) < 4
    if sent == signal.SIGINT:
        assert f"{len(kept)} of 4 jobs are scored again, and kept" in rest
        assert cli("fsck", "first", env=env).returncode == 0
    part = cli("compare", "first", "--json", env=env)
    assert any(f"mine:near: {len(kept)} of 4 jobs are regraded" in words for words in json.loads(part.stdout)["judged"])

    module.write_text(module.read_text().replace("time.sleep(60", "time.sleep(0"))
    assert cli(*only, env=env).returncode == 0

    assert cli("fsck", "first", env=env).returncode == 0
    assert len((tmp_path / "runs" / "first" / "regrades.jsonl").read_text().splitlines()) == len(kept) + 4


def test_what_cannot_be_scored_again_says_why(cli: Cli, env: Mapping[str, str]) -> None:
    asks = cli("regrade", "first", "--task", "mine:asks", env=env)
    assert asks.returncode == 1
    assert "it asks a model, whose answers are needed" in asks.stdout
    assert "was not recorded" in asks.stdout
    assert "4 of 4 jobs could not be scored again; their scores stay as they were." in asks.stderr

    unknown = cli("regrade", "first", "--task", "mine:neer", env=env)
    assert (unknown.returncode, "Did you mean `mine:near`?" in unknown.stderr) == (2, True)


def test_a_task_that_is_measured_in_environments_is_refused_with_the_reason() -> None:
    words = why_not(TaskSpec(name="t", loader="t:t", title="t", environments=("shop", "till")))

    assert words.startswith("it is measured in environments (`shop`, `till`), whose state at the time is not kept")


RECORDED = ["-o", "tasks=[mine:asks, mine:opens]", "-o", "llm.record=true", "-o", "run_id=kept"]


def test_a_task_that_asks_a_model_is_scored_again_with_the_answers_that_were_recorded(
    cli: Cli, env: Mapping[str, str], tmp_path: Path
) -> None:
    module = tmp_path / "site" / "mine.py"
    assert cli("run", "--config", "c.yaml", *RECORDED, env=env).returncode == 0
    module.write_text(module.read_text().replace("SCALE = 0.5", "SCALE = 0.25"))

    told = json.loads(cli("regrade", "kept", "--task", "mine:asks", "--json", env=env).stdout)["jobs"]
    assert len(told) == 4
    for job in told:
        result = json.loads((tmp_path / "runs/kept/jobs" / job["job_id"] / "results.json").read_text())
        scored = {(event["what"], event["split"]): event["score"] for event in job["scored"]}
        assert result["score_test"] < 0  # a model said more than three letters
        assert scored["best", "train"] == pytest.approx(result["score_val_best"] / 2)
        assert scored["best", "test"] == pytest.approx(result["score_test"] / 2)
    assert cli("fsck", "kept", env=env).returncode == 0

    module.write_text(module.read_text().replace("Say something", "Say nothing"))
    otherwise = cli("regrade", "kept", "--task", "mine:asks", env=env)
    assert otherwise.returncode == 1
    assert "asks a model what it was not asked when the run was scored" in otherwise.stdout

    opens = cli("regrade", "kept", "--task", "mine:opens", env=env)
    assert opens.returncode == 1
    assert "through an address, whose calls cannot be told apart again" in opens.stdout


CROSSED = """
import hashlib, threading
from collections import defaultdict
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, TaskSpec

SECOND = "a"
told = defaultdict(threading.Event)

class Weighs:
    objective = "say what weighs most"
    parameters = (Parameter(name="x", initial=0.0, kind="number"),)
    splits = {"train": (Example(id="a"), Example(id="b")), "test": (Example(id="ta"), Example(id="tb"))}
    def run(self, values, example, context):
        other = context.candidate, {"a": "b", "b": "a"}[example.id[-1]], len(example.id)
        if example.id[-1] == SECOND:
            told[other].wait(30)
        try:
            said = context.complete([{"role": "user", "content": "Surprise me."}])[0].text
        finally:
            told[context.candidate, example.id[-1], len(example.id)].set()
        return int(hashlib.sha256(said.encode()).hexdigest()[:4], 16)
    def guide(self, example, output, context):
        return Feedback(score=output * (1.0 if example.id[-1] == "a" else 1000.0))

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="weighs", loader="crossed:Weighs", title="weighs", uses_model=True)]
"""


@pytest.fixture(scope="module")
def b_first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a recorded run in which two examples ask the same and are answered differently, `b` first."""
    folder = tmp_path_factory.mktemp("crossed")
    found = installed_in(folder, "crossed", CROSSED, group="tracebench", entry="crossed", target="crossed")
    (folder / "x.yaml").write_text("tasks: ['crossed:weighs']\ntrainers: [NoOp]\nseeds: [1, 2]\neval_workers: 2\n")
    env = {"TRACEBENCH_PLUGINS": "crossed", **found}
    ran = command_in(folder)("run", "--config", "x.yaml", "-o", "run_id=x", "-o", "llm.record=true", env=env)
    assert ran.returncode == 0, ran.stderr
    return folder


@pytest.fixture
def crossed(b_first: Path, tmp_path: Path) -> Mapping[str, str]:
    """A copy of that run, and `a` comes to ask first."""
    shutil.copytree(b_first, tmp_path, dirs_exist_ok=True)
    module = tmp_path / "site" / "crossed.py"
    module.write_text(CROSSED.replace('SECOND = "a"', 'SECOND = "b"'))
    return {"TRACEBENCH_PLUGINS": "crossed", **brought_from(tmp_path)}


def test_equal_prompts_of_different_examples_keep_their_answers(
    cli: Cli, crossed: Mapping[str, str], tmp_path: Path
) -> None:
    told = json.loads(cli("regrade", "x", "--json", env=crossed).stdout)["jobs"]

    assert len(told) == 2
    for job in told:
        assert not job["error"]
        result = json.loads((tmp_path / "runs/x/jobs" / job["job_id"] / "results.json").read_text())
        scored = {(event["what"], event["split"]): event["score"] for event in job["scored"]}
        assert scored["best", "train"] == result["score_val_best"]
        assert scored["best", "test"] == result["score_test"]


def test_a_replay_answers_each_evaluation_its_own_calls_in_whatever_order_they_arrive(
    cli: Cli, crossed: Mapping[str, str]
) -> None:
    replayed = cli("replay", "x", env=crossed)

    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


def test_a_recording_that_does_not_tell_who_asked_is_refused_where_answers_differ(
    cli: Cli, crossed: Mapping[str, str], tmp_path: Path
) -> None:
    calls = tmp_path / "runs" / "x" / "llm" / "calls.jsonl"
    lines = [json.loads(line) for line in calls.read_text().splitlines()]
    scoring = [line for line in lines if "asker" in line and not line["asker"].endswith(TRAINING)]
    assert len(scoring) == 8  # two seeds, train and test
    calls.write_text("".join(json.dumps({k: v for k, v in line.items() if k != "asker"}) + "\n" for line in lines))

    refused = cli("regrade", "x", env=crossed)

    assert refused.returncode == 1
    assert "does not tell which evaluation had which answer: only a new run can measure it" in refused.stdout
