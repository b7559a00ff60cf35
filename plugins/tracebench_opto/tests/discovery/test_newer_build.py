"""In a process whose opto is newer: its trainers run on our problem, metered and archived, and its optimizers are guarded."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.whole import HEAVY

pytest.importorskip("opto", reason="opto is an extra of this plugin")

import layouts

IMPORTS = """
    import json, os, sys, traceback
    from tracebench_core.plugins.host import PluginHost
    from tracebench_core.plugins.refs import load_ref
    from tracebench_core.specs import Budget
    from tracebench_testing import run_trial
    from tracebench_testing.toys import build_dials
    from tracebench_opto import plugin
    from tracebench_opto.discovery.probe import _answer
    from tracebench_opto.proposers import builders
"""
HOST = (
    IMPORTS
    + """
    host = PluginHost({}, options={"opto": json.loads(sys.argv[1])})
    host.register(plugin, "opto")

    def run(name, settings, optimizer, answer=_answer, **kwargs):
        spec = host.component("trainer", name)
        model = load_ref(spec.settings, owner=name)(**settings)
        trainer = load_ref(spec.loader, owner=name)(model)
        toy = build_dials(parameters=2, train=4, validation=3)
        return run_trial(trainer, toy, answer=answer, optimizer=optimizer, **kwargs)
"""
)
FORKS = (
    IMPORTS
    + """
    for line in sys.stdin:
        script, options, *said = json.loads(line)
        forked = os.fork()
        if forked == 0:
            for number, path in zip((1, 2), said):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
            sys.argv, code = ["-c", options], 1
            try:
                exec(script, {"__name__": "__main__"})
                code = 0
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        print(os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]), flush=True)
"""
)
"""Runs each script that it is sent in a fork, so that what the scripts of a build have in common is imported once."""


ONE_DIAL = """
    build_two = build_dials
    build_dials = lambda parameters, **sizes: build_two(parameters=1, **sizes)
"""


Started = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """Plant each layout once, with a process for its scripts: what discovery learns of it is remembered beside it."""
    with ExitStack() as begun:

        def start(layout: str) -> subprocess.Popen[str]:
            folder = layouts.plant(tmp_path_factory.mktemp(layout.lower()), getattr(layouts, layout)).parent
            env = os.environ | {"PYTHONPATH": str(folder), "TRACEBENCH_CACHE": str(folder / "cache")}
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            return begun.enter_context(
                subprocess.Popen([sys.executable, "-c", dedent(FORKS)], cwd=folder, env=env, **pipes)
            )

        yield cache(start)


def in_newer_opto(trees: Started, layout: str, script: str, *, options: dict[str, Any] | None = None) -> Any:
    """Run a script where `opto` is a planted tree; return what it prints last, as JSON."""
    process = trees(layout)
    assert process.stdin is not None
    assert process.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        out, errors = Path(folder, "out"), Path(folder, "errors")
        order = [dedent(HOST) + dedent(script), json.dumps(options or {}), str(out), str(errors)]
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "0\n", errors.read_text()
        return json.loads(out.read_text().strip().rpartition("\n")[2])


def test_the_catalog_lists_running_broken_needing_and_excluded_trainers(trees: Started) -> None:
    script = """
        from tracebench_core.errors import UsageError
        loaded = [t for t in host.catalog().trainers if t.startswith("opto:")]
        listed = {t: s.title for t, s in host.find_trainers().trainers.items() if t.startswith("opto:")}
        host = PluginHost({}, options={"opto": json.loads(sys.argv[1])})
        host.register(plugin, "opto")
        for name in listed:
            host.component("trainer", name)
        try:
            host.component("trainer", "opto:Minibatch")
        except UsageError as err:
            refused = str(err)
        catalog = host.find_trainers()
        print(json.dumps({
            "trainers": [t for t in catalog.trainers if t.startswith("opto:")],
            "problems": {k: v for k, v in catalog.problems.items() if k.startswith("opto:")},
            "excluded": catalog.excluded, "loaded": loaded, "listed": listed, "refused": refused,
        }))
    """
    found = in_newer_opto(trees, "V0139", script, options={"excluded": ["BasicSearchAlgorithm"]})
    assert found["loaded"] == []
    assert "not tried out yet" in found["listed"]["opto:MinibatchAlgorithm"]
    assert "is excluded: abstract" in found["refused"]
    assert found["trainers"] == ["opto:AggregatedUpdate", "opto:MinibatchAlgorithm"]
    assert list(found["problems"]) == ["opto:AggregatedUpdate"]
    assert found["problems"]["opto:AggregatedUpdate"].startswith("broken: TypeError")
    assert found["excluded"]["opto:BasicSearchAlgorithm"] == "excluded by the settings"
    assert "abstract" in found["excluded"]["opto:Minibatch"]


def test_a_discovered_trainer_is_metered_archived_and_seeded(trees: Started) -> None:
    script = """
        settings = {"num_steps": 3}
        one, two = (run("opto:PrioritySearch", settings, builders.optoprime, seed=5) for _ in range(2))
        assert one.error is None, one.error
        measured = [e for e in one.evaluations if e.candidate == one.best.id and e.split == "validation"]
        print(json.dumps({
            "same": one.comparable() == two.comparable(),
            "evaluations": one.used.evaluations, "calls": one.used.llm_calls, "steps": len(one.steps),
            "initial": one.score("initial"), "best": one.score("best"),
            "values": one.best.values, "measured": len({e.example for e in measured}),
            "metrics": sorted({e.name for e in one.events if e.kind == "metric"}),
        }))
    """
    found = in_newer_opto(trees, "V020_ALPHA", script)
    assert found["same"]
    assert found["calls"] == 3
    assert found["steps"] == 3
    assert found["best"] > found["initial"]
    assert found["measured"] == 3
    assert found["metrics"] == ["score"]
    assert found["evaluations"] >= 3 + 3


def test_what_a_trainer_left_is_measured_whole_also_when_it_looked_at_train_alone(trees: Started) -> None:
    script = """
        trial = run("opto:MinibatchAlgorithm", {"num_epochs": 2}, builders.optoprime)
        assert trial.error is None, trial.error
        whole = {e.example for e in trial.evaluations if e.candidate == trial.best.id and e.split == "validation"}
        print(json.dumps({"best": trial.best.id, "whole": len(whole)}))
    """
    found = in_newer_opto(trees, "V0139", script)
    assert found["best"] != "c0"
    assert found["whole"] == 3


@HEAVY
def test_a_traced_task_keeps_its_graph_under_a_discovered_trainer(trees: Started) -> None:
    script = """
        from tracebench_engine.builtin.tasks.simple import SimpleTask
        from tracebench_core.specs import Example, Feedback, Parameter
        from tracebench_testing import Toy
        from tracebench_testing.teacher import Lesson
        from tracebench_opto.bridge.library import load
        trace = load("opto.trace")

        class Adds(trace.Module):
            def __init__(self):
                self.shift = trace.node(0.0, name="shift", trainable=True)
                self.other = trace.node(7.0, name="other", trainable=True)
            def forward(self, x):
                return x + self.shift

        class Task(SimpleTask):
            def trace_agent(self):
                return Adds()

        guide = lambda example, output, _: Feedback(score=-abs(output - example.input - 3), text="more")
        examples = {s: tuple(Example(id=f"{s}-{i}", input=float(i)) for i in range(3)) for s in ("train", "validation")}
        task = Task([Parameter(name="shift", initial=0.0, kind="number")], "Shift by 3.",
                    lambda values, example, _: example.input + values["shift"], guide, examples)
        toy = Toy("adds", task, Lesson(lambda v, _: v, lambda v, _: v), target=0)
        trainer = load_ref(host.component("trainer", "opto:PrioritySearch").loader, owner="")(
            load_ref(host.component("trainer", "opto:PrioritySearch").settings, owner="")(num_steps=4))
        prompts = []
        def answer(prompt, call):
            prompts.append(prompt)
            return _answer(prompt, call)
        trial = run_trial(trainer, toy, answer=answer, optimizer=builders.optoprime)
        assert trial.error is None, trial.error
        print(json.dumps({"best": trial.best.values, "prompt": prompts[0]}))
    """
    found = in_newer_opto(trees, "V020_ALPHA", script)
    assert found["best"] == {"shift": 1.0}
    assert re.search(r"add\d+ = add\(x=\w+, y=shift0\)", found["prompt"])


def test_a_class_goes_on_to_the_cap_unless_it_is_told_how_long(trees: Started) -> None:
    script = """
        from tracebench_core.specs import Budget
        cap = Budget(evaluations=60, llm_calls=100)
        free, told = (
            run("opto:PrioritySearch", settings, builders.optoprime, budget=cap) for settings in ({}, {"num_steps": 2}))
        whole = {e.candidate for e in free.evaluations if e.split == "validation"}
        print(json.dumps({"free": free.used.evaluations, "whole": len(whole), "told": told.spent, "steps": len(told.steps),
                          "errors": [repr(t.error) for t in (free, told)]}))
    """
    found = in_newer_opto(trees, "V020_ALPHA", script)
    assert found["errors"] == ["None"] * 2
    assert 45 <= found["free"] <= 60
    assert found["whole"] >= 2
    assert found["told"] is None
    assert found["steps"] == 2


@HEAVY
def test_a_parameter_that_is_an_object_can_be_a_key(trees: Started) -> None:
    script = """
        from tracebench_engine.builtin.tasks.examples import build_greeting
        from tracebench_testing import Toy
        from tracebench_testing.teacher import Lesson
        from tracebench_opto.discovery.agents import build_agent
        kept = {}
        class Trainer:
            def train(self, problem):
                agent = build_agent(problem)
                nodes = agent.parameters()
                kept["hash"] = isinstance(hash(nodes[0].data), int)
                values = agent.bench.values(nodes)
                kept["plain"] = type(values["greetings"]).__name__
                typed = agent.bench.typed(nodes, {nodes[0]: {"English": "Hello"}})
                kept["typed"] = [isinstance(hash(v), int) for v in typed.values()]
                problem.evaluate(values)
        toy = Toy("greeting", build_greeting(), Lesson(lambda v, _: v, lambda v, _: v), target=1)
        trial = run_trial(Trainer(), toy, answer=_answer)
        assert trial.error is None, trial.error
        print(json.dumps(kept))
    """
    assert in_newer_opto(trees, "V020_ALPHA", script) == {"hash": True, "plain": "dict", "typed": [True]}


@HEAVY
def test_a_candidate_that_fails_never_looks_better_than_one_that_does_not(trees: Started) -> None:
    script = """
        from tracebench_engine.builtin.tasks.simple import SimpleTask
        from tracebench_core.contracts import EvaluationFailed
        from tracebench_core.specs import Example, Feedback, Parameter
        from tracebench_testing import Toy
        from tracebench_testing.teacher import Lesson
        from tracebench_opto.discovery.agents import build_agent
        from tracebench_opto.discovery.scoring import build_guide

        def guide(example, output, context):
            if output > 1:
                raise EvaluationFailed(Feedback(score=0.0, text="broke", status="error"))
            return Feedback(score=output - 5, text="more")

        class Trainer:
            def train(self, problem):
                agent = build_agent(problem)
                judge = build_guide(agent.bench)
                def score(x):
                    agent.parameter_0000._set(x)
                    return judge("train-0", agent("train-0").data, "train-0")[0]
                self.scores = [score(x) for x in (2.0, 0.0, 1.0, 3.0)]

        task = SimpleTask([Parameter(name="x", initial=0.0, kind="number")], "Up.", lambda v, *_: v["x"], guide)
        trainer = Trainer()
        trial = run_trial(trainer, Toy("t", task, Lesson(lambda v, _: v, lambda v, _: v), target=0), answer=_answer)
        assert trial.error is None, trial.error
        print(json.dumps({"scores": trainer.scores}))
    """
    early, low, high, late = in_newer_opto(trees, "V020_ALPHA", script)["scores"]
    assert (low, high) == (-5.0, -4.0)
    assert early < low
    assert late < low


@HEAVY
def test_a_trainer_that_swallows_errors_is_ended_by_its_budget(trees: Started) -> None:
    script = """
        trial = run("opto:GEPAAlgorithmBase", {}, builders.optoprime, budget=Budget(evaluations=30))
        print(json.dumps({"spent": trial.spent, "used": trial.used.evaluations, "candidates": len(trial.candidates)}))
    """
    found = in_newer_opto(trees, "V020_ALPHA", script)
    assert found["spent"] == "evaluations"
    assert found["used"] == 30
    assert found["candidates"] > 1


def test_rubbish_changes_no_value_and_is_recorded(trees: Started) -> None:
    script = """
        rubbish = lambda prompt, call: '{"suggestion": {"dial_00": "far", "dial_10": null}}' if call else "no idea"
        trial = run("opto:PrioritySearch", {"num_steps": 2}, builders.optoprime, answer=rubbish)
        assert trial.error is None, trial.error
        names = [e.name for e in trial.events if e.kind == "metric" and e.name != "score"]
        print(json.dumps({"candidates": len(trial.candidates), "names": names}))
    """
    found = in_newer_opto(trees, "V020_ALPHA", script)
    assert found == {"candidates": 1, "names": ["proposal_malformed", "proposal_refused"]}


def test_an_unknown_setting_and_a_foreign_proposer_are_refused(trees: Started) -> None:
    script = """
        from pydantic import ValidationError
        from tracebench_engine.builtin import reflective
        try:
            run("opto:PrioritySearch", {"num_stepz": 3}, builders.optoprime)
        except ValidationError as err:
            unknown = err.errors()[0]["type"]
        trials = [run("opto:PrioritySearch", {"num_steps": 1}, o) for o in (reflective.build, builders.textgrad)]
        print(json.dumps({"unknown": unknown, "errors": [type(t.error).__name__ for t in trials]}))
    """
    found = in_newer_opto(trees, "V020_ALPHA", script)
    assert found == {"unknown": "extra_forbidden", "errors": ["UsageError", "UsageError"]}


@HEAVY
def test_the_settings_that_make_a_class_run_here_are_its_defaults(trees: Started) -> None:
    script = """
        spec = host.component("trainer", "opto:POLCA")
        model = load_ref(spec.settings, owner="opto:POLCA")()
        print(json.dumps({"epsilon": model.epsilon, "told": spec.description, "optimizer": spec.default_optimizer}))
    """
    found = in_newer_opto(trees, "EXPERIMENTAL", script)
    assert found["epsilon"] == 0
    assert "only with" in found["told"]
    assert found["optimizer"] == "OptoPrimeV2"


@HEAVY
def test_an_optimizer_that_speaks_xml_is_offered_and_guarded(trees: Started) -> None:
    script = """
        from tracebench_core.specs import Parameter
        from tracebench_testing import Toy
        spec = host.component("optimizer", "OptoPrimeV2")
        build = load_ref(spec.loader, owner="OptoPrimeV2")
        replies = [
            "<reasoning>TERMINATE?</reasoning><variable><name>dial_00</name><value>\\n0.5\\n</value></variable>",
            "rubbish",
            "<variable><name>dial_10</name><value>1e9</value></variable>",
        ]
        found, prompts = [], []
        class Trainer:
            def train(self, problem):
                optimizer = build(problem)
                lineage = [problem.evaluate(problem.initial)]
                found.extend(optimizer.propose(lineage) for _ in range(3))
        def answer(prompt, call):
            prompts.append(prompt)
            return replies[call]
        trial = run_trial(Trainer(), build_dials(parameters=2), answer=answer)
        assert trial.error is None, trial.error
        assert not {"litellm", "openai"} & {*sys.modules}, "opto's default model was built"
        print(json.dumps({"found": found, "prompt": prompts[0], "calls": trial.used.llm_calls,
                          "absent": [s.name for s in plugin.tracebench_optimizers()]}))
    """
    found = in_newer_opto(trees, "EXPERIMENTAL", script)
    assert found["found"][0][0]["dial_0"] == 0.5
    assert found["found"][1] == []
    assert found["calls"] == 3
    assert '<variable name="dial_00" type="float">' in found["prompt"]
    assert found["absent"] == ["OptoPrime", "OPRO", "OptoPrimeMulti", "TextGrad", "OptoPrimeV2"]


def test_optimize_anything_is_offered_where_the_build_has_it_and_climbs_within_the_cap(trees: Started) -> None:
    script = """
        from tracebench_core.specs import Budget
        cap = Budget(evaluations=60, llm_calls=15)
        free, told, few = (
            run("opto:optimize_anything", settings, builders.optoprime, budget=budget)
            for settings, budget in (({}, cap), ({"max_steps": 2}, cap), ({}, None)))
        whole = {e.example for e in told.evaluations if e.candidate == told.best.id and e.split == "validation"}
        print(json.dumps({"initial": free.score("initial"), "best": free.score("best"),
                          "whole": len(whole), "calls": free.used.llm_calls, "told": told.used.llm_calls,
                          "train": sum(e.split == "train" for e in few.evaluations),
                          "errors": [repr(t.error) for t in (free, told, few)]}))
    """
    found = in_newer_opto(trees, "EXPERIMENTAL", dedent(ONE_DIAL) + dedent(script))
    assert found["errors"] == ["None"] * 3
    assert found["best"] > found["initial"]
    assert found["whole"] == 3
    assert found["calls"] == 15, "it goes on to the cap"
    assert found["told"] == 2
    assert found["train"] == 20, "the library's own default where nothing is capped"


def test_optimize_anything_shows_several_parameters_as_one_text_and_outlives_what_is_none(trees: Started) -> None:
    script = """
        from tracebench_core.specs import Budget
        prompts = []
        def answer(prompt, call):
            prompts.append(prompt)
            name = re.findall(r"candidate\\d+", prompt)[-1]
            written = ["no object", json.dumps({"dial_0": 1.0, "dial_9": 3}), json.dumps({"dial_1": "up"})][call % 3]
            return "no answer" if call == 3 else json.dumps({"reasoning": "", "suggestion": {name: written}})
        trial = run("opto:optimize_anything", {}, builders.optoprime, answer=answer, budget=Budget(llm_calls=4))
        kinds = [e.name for e in trial.events if e.kind == "metric"]
        print(json.dumps({"error": repr(trial.error), "best": trial.best.values, "prompt": prompts[0], "kinds": kinds}))
    """
    found = in_newer_opto(trees, "EXPERIMENTAL", "import re\n" + dedent(script))
    assert found["error"] == "None"
    assert found["best"] == {"dial_0": 1.0, "dial_1": 0.0}
    assert (
        '{\\"dial_0\\": 0.0, \\"dial_1\\": 0.0}' in found["prompt"]
        or '{"dial_0": 0.0, "dial_1": 0.0}' in found["prompt"]
    )
    assert found["kinds"].count("proposal_malformed") == 2
    assert found["kinds"].count("proposal_refused") == 2


def test_optimize_anything_is_not_offered_where_the_build_has_none(trees: Started) -> None:
    script = """
        print(json.dumps([t for t in host.find_trainers().trainers if "anything" in t]))
    """
    assert in_newer_opto(trees, "V0139", script) == []
