"""The pieces of a research loop at their edges: what is told of an experiment, what evidence is worth, which edits apply, what is found."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pydantic import ValidationError

from tracebench_autoresearch.edits.applying import read_proposal
from tracebench_autoresearch.edits.files import UnusableEdit, clean_path
from tracebench_autoresearch.edits.reverting import without
from tracebench_autoresearch.evaluation.racing import is_settled, speedup, spread
from tracebench_autoresearch.experiment import Command, SystemExperiment
from tracebench_autoresearch.field_cases import field_cases, is_field
from tracebench_autoresearch.history.confirmation import Ablation, Confirmation, Gain, read_confirmation
from tracebench_autoresearch.history.progress import points, progress
from tracebench_autoresearch.history.reading import Experiment, History
from tracebench_autoresearch.history.table import records, rows
from tracebench_autoresearch.sources.snapshot import Entry, Snapshot
from tracebench_autoresearch.starting.finding import Direction, find_layout, find_metric
from tracebench_autoresearch.statistics.drift import Drift
from tracebench_autoresearch.statistics.effect import effect
from tracebench_autoresearch.statistics.evidence import (
    Evidence,
    RunLevel,
    Scale,
    false_share_held,
    fewest_pairs,
    sign_flip_probability,
)
from tracebench_autoresearch.trainer.judging import Contest, Greedy, PairedTrial, Ruling
from tracebench_autoresearch.trainer.prompts import PROGRAM, build_prompt, shown_files
from tracebench_autoresearch.trainer.settings import AutoresearchSettings, cost
from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import UsageError
from tracebench_core.specs import TaskShape
from tracebench_core.specs.events import MetricLogged


def experiment(number: int = 1, **more: Any) -> Experiment:
    return Experiment(
        **{"number": number, "candidate": f"c{number}", "time": "t", "description": " a\n b ", "parents": ()} | more
    )


def history(*experiments: Experiment, **more: Any) -> History:
    given = {
        "job": "j", "task": "autoresearch:x", "trainer": "T", "metric": "loss", "direction": "minimize", "revision": "", "policy": "p",
        "experiments": experiments, "self_reported": True, "best": "c2", "confirmation": None, "drift": 1.0,
    }  # fmt: skip
    return History(**given | more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("number", "told", "status"),
    [
        (0, {}, "baseline"), (0, {"verdict": "accepted"}, "baseline"), (0, {"outcome": "crashed"}, "crashed"),
        (0, {"outcome": "crashed", "values": [1.0]}, "baseline"), (1, {}, "measured"), (1, {"outcome": "measured"}, "measured"),
        (1, {"verdict": "accepted"}, "keep"), (1, {"verdict": "rejected", "outcome": "measured"}, "discard"),
        (1, {"verdict": "indecisive"}, "indecisive"), (1, {"verdict": "rejected", "outcome": "timed out"}, "timed out"),
        (1, {"verdict": "rejected", "outcome": "timed out", "values": [1.0]}, "discard"),
        (1, {"outcome": "crashed", "values": [1.0]}, "crashed"),
        (1, {"verdict": "accepted", "is_ablation": True}, "ablation"),
    ],
)  # fmt: skip
def test_what_became_of_an_experiment(number: int, told: dict[str, Any], status: str) -> None:
    assert experiment(number, **told).status == status


def test_what_an_experiment_measured() -> None:
    one = experiment(values=[1.0, 2.0, 6.0], metrics=[{"memory_mb": 4.0}, {"memory_mb": 5.0}, {}])
    assert (one.value, one.spread, one.mean_of("memory_mb"), one.mean_of("x")) == (
        3.0,
        pytest.approx(7**0.5),
        4.5,
        None,
    )
    single, none = experiment(values=[2.0]), experiment()
    assert (single.value, single.spread, none.value, none.spread) == (2.0, None, None, None)


def test_what_stands_of_a_job() -> None:
    start, kept, other = experiment(0), experiment(1, verdict="accepted"), experiment(2, verdict="rejected")
    assert history(start, kept, other).kept == [start, kept]
    free = [experiment(n) for n in range(3)]
    assert history(*free).kept == [free[0], free[2]]
    assert [history(drift=drift).drifts for drift in (19.9, 20.0)] == [False, True]


def test_rows_and_records_of_experiments() -> None:
    gain = Gain(1.0, None, None)
    found = history(
        experiment(0, values=[3.0, 4.0], metrics=[{"memory_gb": 2.0, "peak_vram_mb": 7.25}, {"peak_vram_mb": 7.25}]),
        experiment(1, outcome="crashed", verdict="rejected", reason="r", beside=["c0"]),
        confirmation=Confirmation(gain, (Ablation("c1", gain, confirmed=False, is_step=False),)),
    )
    assert [*rows(found, {"c0": "0123456789ab"})] == [
        ("0123456789", "3.500000", "2", "7.2", "baseline", "a b"), ("c1", "-", "0", "-", "crashed", "a b"),
    ]  # fmt: skip
    shared = {"metric": "loss", "direction": "minimize", "self_reported": True, "description": " a\n b ", "time": "t"}
    assert [*records(found, {"c0": "0123456789ab"})] == [
        shared | {"number": 0, "candidate": "c0", "commit": "0123456789ab", "value": 3.5, "values": [3.0, 4.0],
        "spread": pytest.approx(0.5**0.5),
                  "status": "baseline", "outcome": "", "verdict": None, "reason": "", "beside": [], "confirmed": None},
        shared | {"number": 1, "candidate": "c1", "commit": None, "value": None, "values": [], "spread": None, "status": "crashed",
                  "outcome": "crashed", "verdict": "rejected", "reason": "r", "beside": ["c0"], "confirmed": False},
    ]  # fmt: skip


def test_the_plot_of_a_job() -> None:
    long = "w" * 45
    found = history(
        experiment(0, values=[4.0]),
        experiment(1, values=[2.0], verdict="accepted", description=long[:44]),
        experiment(2, verdict="rejected", outcome="crashed", reason="r"),
        experiment(3, values=[1.0], verdict="accepted", description=long),
        experiment(4, values=[0.5], verdict="rejected", description=" "),
    )
    row = {"reason": "", "runs": 1}
    told = [
        row | {"number": 0, "value": 4.0, "best": 4.0, "status": "baseline", "outcome": "baseline", "label": "a b", "description": "a b"},
        row | {"number": 1, "value": 2.0, "best": 2.0, "status": "keep", "outcome": "keep", "label": long[:44], "description": long[:44]},
        row | {"number": 2, "value": None, "best": 2.0, "status": "failed", "outcome": "crashed", "label": "", "description": "a b",
               "reason": "r", "runs": 0},
        row | {"number": 3, "value": 1.0, "best": 1.0, "status": "keep", "outcome": "keep", "label": f"{long[:43]}…", "description": long},
        row | {"number": 4, "value": 0.5, "best": 1.0, "status": "discard", "outcome": "discard", "label": "", "description": ""},
    ]  # fmt: skip
    assert [*points(found)] == told
    plot = progress(found)
    assert (plot["title"], plot["width"], plot["height"]) == ("autoresearch:x: 5 experiments, 2 kept", 760, 380)
    line, dots, labels = plot["layer"]
    scale = {"zero": False, "domain": [1 - 0.15 * 3, 4 + 0.15 * 3], "clamp": True, "nice": False}
    x = {"field": "number", "type": "quantitative", "title": "experiment", "axis": {"tickMinStep": 1}}
    y = {"field": "value", "type": "quantitative", "title": "loss (minimize)", "scale": scale}
    assert line == {
        "data": {"values": told}, "encoding": {"x": x, "y": y | {"field": "best"}},
        "mark": {"type": "line", "interpolate": "step-after", "color": "#009E73", "strokeWidth": 2},
    }  # fmt: skip
    assert dots["data"]["values"] == [*(row for row in told if row["number"] != 2), told[2] | {"value": 4.45}]
    assert dots["encoding"]["color"]["scale"] == {
        "domain": ["baseline", "keep", "discard", "failed"], "range": ["#222222", "#009E73", "#999999", "#D55E00"],
    }  # fmt: skip
    assert dots["encoding"]["shape"]["scale"]["range"] == ["diamond", "circle", "circle", "cross"]
    assert dots["mark"] == {"type": "point", "filled": True, "size": 70, "opacity": 0.9}
    assert labels["data"]["values"] == [told[0], told[1], told[3]]
    assert labels["mark"] == {"type": "text", "angle": 330, "align": "left", "dx": 6, "dy": -6, "fontSize": 10}


@pytest.mark.parametrize(
    ("values", "direction", "domain", "edge"),
    [([2.0], "maximize", [1.7, 2.3], 1.7), ([0.0], "minimize", [-1.0, 1.0], 1.0), ([], "maximize", [-1.0, 1.0], -1.0)],
)
def test_the_scale_of_a_plot_has_a_margin_in_any_case(
    values: list[float], direction: str, domain: list[float], edge: float
) -> None:
    plot = progress(history(experiment(0, values=values), experiment(1, verdict="rejected"), direction=direction))
    dots = plot["layer"][1]
    assert dots["encoding"]["y"]["scale"]["domain"] == pytest.approx(domain)
    assert dots["data"]["values"][-1]["value"] == pytest.approx(edge)
    assert plot["title"] == "autoresearch:x: 2 experiments"


@pytest.mark.parametrize(("direction", "best"), [("maximize", [1, 1, 3, 3]), ("minimize", [1, 1, 1, 0])])
def test_what_is_best_where_nothing_is_decided(direction: str, best: list[float]) -> None:
    tried = [experiment(n, values=values) for n, values in enumerate(([1.0], [1.0], [3.0], [0.0]))]
    told = [*points(history(*tried, direction=direction))]
    assert [row["best"] for row in told] == best
    assert [bool(row["label"]) for row in told] == [True, False, direction == "maximize", direction == "minimize"]


def test_what_a_confirmation_says() -> None:
    numbers = {
        "confirmation/c1/confirmed": 1.0, "confirmation/c1/gain": 2.0, "confirmation/c1/low": 1.0, "confirmation/c1/high": 3.0,
        "confirmation/c1/step": 0.0, "confirmation/c2/confirmed": 0.0, "confirmation/c2/step": 1.0, "confirmation/all/gain": 5.0,
    }  # fmt: skip
    found = read_confirmation(
        [MetricLogged(t="t", seq=n, name=name, value=value) for n, (name, value) in enumerate(numbers.items())]
    )
    assert found is not None
    assert found.words == "of 2 kept, 1 confirmed, total gain 5"
    assert [*found.lines()] == [
        "c1\tconfirmed\t2 [1, 3]\tby taking it out", "c2\tnot confirmed\tnot measured\tas a step, for later edits stand on it",
    ]  # fmt: skip
    assert read_confirmation([]) is None


SHAPE = TaskShape(parameters=1, train=2, validation=0)


@pytest.mark.parametrize(
    ("settings", "evaluations", "calls", "steps", "start"),
    [
        ({"accept": "greedy", "num_experiments": 3}, (2, 8, 8), 3, 4, 2),
        ({"num_experiments": 3, "max_repeats": 10}, (8, 2 * (4 + 24 + 8 * 4), 2 * (4 + 60 + 8 * 8)), 3, 12, 8),
        (
            {"num_experiments": 3, "side_by_side": 2, "confirm": 0, "baseline_repeats": 2},
            (4, 2 * (2 + 24), 2 * (2 + 120)),
            3,
            3,
            4,
        ),
        ({"num_experiments": 3, "agent": ("x",), "accept": "greedy"}, (2, 8, 8), 0, 4, 2),
    ],
)
def test_what_a_job_is_expected_to_use(
    settings: dict[str, Any], evaluations: tuple[float, ...], calls: int, steps: int, start: int
) -> None:
    told = cost(AutoresearchSettings(**settings), SHAPE)
    assert (told.evaluations.low, told.evaluations.likely, told.evaluations.high) == evaluations
    assert (told.llm_calls.low, told.llm_calls.likely, told.llm_calls.high) == (calls, calls, calls)
    assert (told.steps, told.start) == (steps, start)
    assert told.proposals is not None
    assert (told.proposals.low, told.proposals.likely, told.proposals.high) == (0, 3, 3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"accept": "greedy", "side_by_side": 2}, "`side_by_side` needs `accept: noise_aware`: who measured better once is no race"),
        ({"baseline_repeats": 1}, "`accept: noise_aware` knows the noise from at least two `baseline_repeats`"),
        ({"num_experiments": 20, "max_repeats": 8}, ("with `num_experiments: 20` and `false_acceptance: 0.05` no edit can be kept in fewer "
         "than 9 pairs: `max_repeats` must be at least that")),
        ({"confirm": 4}, ("with `false_acceptance: 0.05` no edit can be confirmed in fewer than 5 rounds: `confirm` must be at least that, "
         "or 0 for none")),
    ],
)  # fmt: skip
def test_settings_that_cannot_decide_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        AutoresearchSettings(**settings)
    assert caught.value.errors()[0]["msg"] == f"Value error, {words}"
    for edge in (
        {"num_experiments": 20, "max_repeats": 9},
        {"confirm": 5},
        {"confirm": 0},
        {"baseline_repeats": 2},
        {"accept": "greedy", "baseline_repeats": 1},
    ):
        AutoresearchSettings(**edge)


# --- statistics


def test_evidence_is_won_and_lost_pair_by_pair() -> None:
    evidence = Evidence()
    for difference, scale, value in (
        (1.0, None, 1.75), (-1.0, None, 0.4375), (0.0, 1.0, 0.4375), (9.0, 0.0, 0.86625), (1e9, 1.0, 1.715175), (-0.5, 1.0, 0.922566),
    ):  # fmt: skip
        evidence.add(difference, scale)
        assert evidence.value == pytest.approx(value, rel=1e-5)
    assert [Evidence().can_reach(goal, pairs=2) for goal in (1.98**2, 1.98**2 + 1e-9)] == [True, False]
    assert Evidence().can_reach(1.0, pairs=0)


def test_the_scale_is_the_median_distance_of_neighbours() -> None:
    scale = Scale()
    told = []
    for value in (1.0, 3.0, 3.5, None, 9.0, 9.1):
        if value is None:
            scale.restart()
        else:
            scale.add(value)
        told.append(scale.value)
    assert told == [None, *(pytest.approx(d / 0.6745) for d in (2.0, 1.25, 1.25, 1.25, 0.5))]


def test_each_edit_that_is_kept_lowers_what_the_next_needs() -> None:
    level = RunLevel(alpha=0.05, tests=10)
    needed = [level.needed]
    for _ in range(2):
        level.count_kept()
        needed.append(level.needed)
    assert needed == pytest.approx([200, 100, 200 / 3])
    assert [fewest_pairs(goal) for goal in (0.5, 1.0, 1.98, 1.99, 1.98**7, 1.98**7 + 0.1, 100)] == [1, 1, 1, 2, 7, 8, 7]


def test_probabilities_of_signs_and_what_may_be_called_false() -> None:
    assert [sign_flip_probability(d) for d in ([1.0], [-1.0], [1.0, 1.0], [1.0, -1.0], [3.0, 1.0, -1.0], [0.1, 0.2, -0.3])] == [
        0.5, 1.0, 0.25, 0.75, 0.375, 0.625,
    ]  # fmt: skip
    assert false_share_held({"a": 0.02, "b": 0.049, "c": 0.9}, 0.075) == {"a", "b"}
    assert false_share_held({"a": 0.026}, 0.025) == false_share_held({}, 0.05) == frozenset()
    assert false_share_held({"a": 0.04, "b": 0.05}, 0.05) == {"a", "b"}


def test_an_effect_has_an_interval_from_six_pairs_on() -> None:
    assert str(effect([1.0, 2.0, 3.0, 4.0, 5.0])) == "3"
    assert str(effect([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])) == "3.5 [1, 6]"
    assert str(effect([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0])) == "4 [2, 6.5]"
    assert str(effect([1.0, 2.0, 3.0, 4.0], confidence=0.8)) == "2.5 [1, 4]"


def test_a_drift_is_seen_and_forgotten_files_are_not() -> None:
    class Half(random.Random):
        def random(self) -> float:
            return 0.5

    drift, told = Drift(Half()), []
    for value in (1.0, 2.0, 3.0, 4.0, 5.0):
        drift.add(value)
        told.append(drift.evidence)
    assert told == pytest.approx([1.0, 1.0, 1.1764, 1.635481, 2.516349359], rel=1e-6)
    assert (drift.most, drift.is_seen) == (drift.evidence, False)
    for value in range(6, 20):
        drift.add(float(value))
    assert drift.is_seen
    seen = drift.most
    drift.restart()
    drift.add(0.0)
    assert drift.most >= seen
    assert drift.evidence != pytest.approx(1.0)


def contest(
    *, most: int = 20, tests: int = 5, min_gain: float = 0.0, scores: tuple[float, ...] = (0.0, 0.6745)
) -> Contest:
    scale = Scale()
    for score in scores:
        scale.add(score)
    return Contest(scale, RunLevel(alpha=0.05, tests=tests), most=most, min_gain=min_gain)


def test_a_contest_goes_pair_by_pair_and_says_what_it_saw() -> None:
    one = contest()
    assert (one.gain, one.words) == (float("-inf"), "no gain known in 0 pairs, evidence 1 of 100")
    assert one.add(None, None) == Ruling("rejected", "failed", 1)
    two = contest()
    assert two.add(0.5, None) is None
    assert two.words == "no gain known in 0 pairs, evidence 1 of 100"
    assert two.add(0.5, 0.25) is None
    assert two.words == "gain +0.25 in 1 pair, evidence 1.24 of 100"
    assert two.add(None, 0.0) == Ruling("rejected", "failed when it was run again, after 2", 3)
    lost = contest().add(-9.0, 0.0)
    assert lost == Ruling("rejected", "gain -9 in 1 pair, evidence 0.02 of 100", 1)
    few = contest(most=2).add(0.1, 0.0)
    assert few == Ruling("indecisive", "gain +0.1 in 1 pair, evidence 1.1 of 100", 1)
    assert contest().undecided("why") == Ruling("indecisive", "no gain known in 0 pairs, evidence 1 of 100; why", 0)
    won = contest(tests=1, min_gain=1.0)
    rulings = [won.add(mine, 0.0) for mine in (9.0, 9.0, 8.0, 7.0, 7.0)]
    assert rulings == [None, None, None, None, Ruling("accepted", "gain +8 in 5 pairs, evidence 30.4 of 20", 5)]
    assert won.gain == 8.0


def test_the_greedy_rule_keeps_what_measured_better_by_more_than_the_least_gain() -> None:
    rule = Greedy(min_gain=0.5)
    rule.start([1.0, 9.0])
    told = [rule.judge(lambda score=score: score, lambda: None) for score in (1.5, 1.6, None, 1.0)]  # type: ignore[misc]
    assert told == [
        Ruling("rejected", "measured +0.5, once", 1), Ruling("accepted", "measured +0.6, once", 1), Ruling("rejected", "failed", 1),
        Ruling("rejected", "measured -0.6, once", 1),
    ]  # fmt: skip
    rule.start([])
    assert rule.judge(lambda: -5.0, lambda: None) == Ruling("accepted", "the first that measures", 1)


def test_a_trial_without_anything_to_compare_with_keeps_the_first_that_measures() -> None:
    rule = PairedTrial(random.Random(1), experiments=5)
    rule.start([])
    assert not rule.measures
    assert rule.judge(lambda: None, lambda: 1.0) == Ruling("rejected", "failed", 1)
    assert rule.judge(lambda: 2.0, lambda: 1.0) == Ruling("accepted", "the first that measures", 1)
    assert rule.measures


# --- edits


FILES = {"a.py": "one\ntwo\none\n", "b.py": "last"}


def block(path: str, old: str, new: str) -> str:
    return f"{path}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"


def refused(reply: str) -> str:
    with pytest.raises(UnusableEdit) as caught:
        read_proposal(reply, FILES)
    return str(caught.value)


@pytest.mark.parametrize(
    ("reply", "changed"),
    [
        (block("a.py", "two\n", "2\n"), {"a.py": "one\n2\none\n"}),
        (block("`./a.py`:", "two\n", ""), {"a.py": "one\none\n"}),
        (block("b.py", "last\n", "first\n"), {"b.py": "first"}),
        (block("c.py", "", "new\n"), {"c.py": "new\n"}),
        (block("a.py", "two\n", "2\n") + block("", "2\n", "3\n"), {"a.py": "one\n3\none\n"}),
        ("--- a/a.py\n+++ b/a.py\n@@ -3,1 +3,1 @@\n-one\n+1\n", {"a.py": "one\ntwo\n1\n"}),
        ("--- a/a.py\n+++ b/a.py\n@@\n-two\n+2\n\\ No newline\n\n", {"a.py": "one\n2\none\n"}),
        ("--- /dev/null\n+++ b/c.py\n@@ -0,0 +1,2 @@\n+x\n+y\n```\n", {"c.py": "x\ny\n"}),
        ("--- a/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-last\n", {"b.py": None}),
        ("--- a/b.py\n+++ b/d.py\n@@ -1 +1 @@\n-last\n+end\ndiff --git a b\n", {"b.py": None, "d.py": "end"}),
        ("--- a/a.py\n+++ b/a.py\n@@ -0,0 +1,1 @@\n+zero\n", {"a.py": "zero\none\ntwo\none\n"}),
        ("--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n one\n+1.5\n@@ -3 +4 @@\n-one\n+3\n", {"a.py": "one\n1.5\ntwo\n3\n"}),
        ("FILE: `b.py`\n```python\nx\n```\nFILE: c.py\n````\n```\n````\n", {"b.py": "x\n", "c.py": "```\n"}),
    ],
)  # fmt: skip
def test_an_edit_is_applied(reply: str, changed: dict[str, str | None]) -> None:
    told = {**FILES, **changed}
    assert read_proposal(reply, FILES).files == {path: text for path, text in told.items() if text is not None}


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("nothing", "the reply holds no edit: no SEARCH/REPLACE block, no unified diff, no `FILE:` with a block of text"),
        (block("a.py", "two\n", "two\n"), "the edit changes nothing"),
        (block("a.py", "one\n", "1\n"), "the text to search for in block 1 is 2 times in `a.py`"),
        (block("a.py", "two\n", "2\n") + block("b.py", "three\n", ""), "the text to search for in block 2 is not in `b.py`"),
        (block("a.py", " \n", "x\n"), "the text to search for in block 1 is not in `a.py`"),
        (block("c.py", "x\n", ""), "there is no file `c.py`; the files are `a.py`, `b.py`"),
        ("a.py\n<<<<<<< SEARCH\nx\n", "a SEARCH/REPLACE block is not complete, or has no line with its file's path before it"),
        ("--- a/a.py\n+++ b/a.py\nno hunk", "the diff of `a.py` has no hunk"),
        ("--- a/c.py\n+++ b/c.py\n@@ -1 +1 @@\n-x\n+y\n", "there is no file `c.py`; the files are `a.py`, `b.py`"),
        ("--- a/a.py\n+++ b/a.py\n@@ -2 +2 @@\n-one\n+1\n",
         "hunk 1 does not apply to `a.py`: its lines are not there, or not in one place alone"),
    ],
)  # fmt: skip
def test_an_edit_that_does_not_apply_says_why(reply: str, words: str) -> None:
    assert refused(reply) == words


@pytest.mark.parametrize(
    ("reply", "hypothesis"),
    [
        ("**Hypothesis:** it `helps`\nmore\n", "it `helps"), ("I think\n", "I think"), ("hypothesis: " + "w" * 300, "w" * 200),
        ("\n \n", "b.py"),
    ],
)  # fmt: skip
def test_the_hypothesis_of_a_reply(reply: str, hypothesis: str) -> None:
    assert (
        read_proposal(reply + "\n" + block("b.py", "last", "x\n").replace("last=", "last\n="), FILES).hypothesis
        == hypothesis
    )


def test_paths_are_cleaned_and_edits_taken_back() -> None:
    assert [clean_path(p) for p in (" `./a.py`: ", "### **b.py**", "'c.py'", "./d")] == ["a.py", "b.py", "c.py", "d"]
    lines = [f"line {n}" for n in range(12)]
    text = "\n".join(lines)
    later = text.replace("line 2", "two").replace("line 9", "nine")
    assert without({"f": later}, before={"f": text}, after={"f": text.replace("line 2", "two")}) == {
        "f": text.replace("line 9", "nine")
    }
    near = text.replace("line 2", "two").replace("line 4", "four")
    assert without({"f": near}, before={"f": text}, after={"f": text.replace("line 2", "two")}) == {
        "f": text.replace("line 4", "four")
    }
    beside = text.replace("line 2", "two").replace("line 3", "three")
    assert without({"f": beside}, before={"f": text}, after={"f": text.replace("line 2", "two")}) is None
    assert without({"f": "x"}, before={"f": "x", "g": "y"}, after={"f": "x"}) == {"f": "x", "g": "y"}
    assert without({"f": "x", "g": "z"}, before={"f": "x"}, after={"f": "x", "g": "y"}) is None
    assert without({}, before={"f": "x"}, after={"f": "y"}) is None


# --- what the model is shown


def test_a_prompt_holds_what_there_is_to_tell_and_its_files_are_read_back() -> None:
    files = {"a.py": "x = 1", "b.md": "````\nfence\n````"}
    told = {
        "program": " Do. ",
        "objective": "Make it fast.",
        "files": files,
        "tried": ["one", "two"],
        "last": "w" * 5_000,
        "notes": ["mind"],
    }
    system, user = build_prompt(**told)  # type: ignore[arg-type]
    assert system["role"] == "system"
    assert system["content"].startswith("Do.\n\nReply with one line `Hypothesis: …`")
    assert user["content"] == (
        "# Task\nMake it fast.\n\n# Files\n## File `a.py`\n```\nx = 1\n```\n\n## File `b.md`\n`````\n````\nfence\n````\n`````\n\n"
        f"# Experiments so far, oldest first\n- one\n- two\n\n# The last experiment\n{'w' * 4_000}\n\n# Mind\n- mind\n\n"
        "# Now\nPropose the next experiment on the files as they stand above."
    )
    assert shown_files(user["content"]) == files
    bare = build_prompt(program="", objective="o", files={}, tried=(), last="", notes=(), form=False)
    assert bare[0]["content"] == PROGRAM
    assert bare[1]["content"].startswith("# Task\no\n\n# Files\n\n\n# Now\nMake the next experiment: edit the files")


# --- what is found in a repository


def layout(command: str = "", editable: tuple[str, ...] = (), environment: str | None = None, **texts: str) -> Any:
    entries = {
        name.replace("__", "/").replace("_py", ".py").replace("_txt", ".txt").replace("_lock", ".lock"): text
        for name, text in texts.items()
    }
    snapshot = Snapshot("r", {path: Entry("100644", text.encode()) for path, text in entries.items()})
    found = find_layout(snapshot, command=command, editable=editable, environment=environment)
    return found.command, found.editable, found.shown, found.environment


def test_what_is_run_and_edited_is_found() -> None:
    assert layout(main_py="", train_py="x = '--seed'", evaluate_py="", sub__score_py="", requirements_txt="", uv_lock="") == (
        "python train.py --seed {seed}", ("train.py",), ("evaluate.py", "sub/score.py"), "uv.lock",
    )  # fmt: skip
    assert layout(main_py="", requirements_txt="") == ("python main.py", ("main.py",), (), "requirements.txt")
    assert layout(main_py="", environment="", requirements_txt="") == ("python main.py", ("main.py",), (), "")
    assert layout("sh 'main.py' x", other_py="", main_py="") == ("sh 'main.py' x", ("main.py",), (), "")
    assert layout("make", ("a",), eval_py="") == ("make", ("a",), ("eval.py",), "")
    assert layout("", ("eval.py",), main_py="", eval_py="") == ("python main.py", ("eval.py",), (), "")
    for given in (("make", ()), ("", ("a",))):
        with pytest.raises(UsageError) as caught:
            layout(*given)
        assert str(caught.value) == (
            "No file looks like what is run: there is no text file `train.py`, `main.py`, `run.py`, `experiment.py`, `solve.py`, "
            "`benchmark.py`."
        )
        assert caught.value.hint == '--command "python my_program.py" --editable my_program.py'
    with pytest.raises(UsageError, match=r"^`'x` is no command: No closing quotation.$"):
        layout("'x", main_py="")


@pytest.mark.parametrize(
    ("printed", "name", "direction", "found"),
    [
        ("train_loss: 1\nval_loss: 2\nother: 3", "", None, ("val_loss", "minimize")),
        ("accuracy = 0.5", "", None, ("accuracy", "maximize")),
        ("seconds: 3\nf1: .5", "", None, ("f1", "maximize")),
        ("seconds: 3\nthing: 4", "", None, ("seconds", "minimize")),
        ("thing: 4", "", "maximize", ("thing", "maximize")),
        ("loss: 1\nthing: 4", "thing", "minimize", ("thing", "minimize")),
        ("epoch: 3\nscore: -1e3", "", None, ("score", "maximize")),
        ("loss: 1\nval_acc: 2", "loss", None, ("loss", "minimize")),
    ],
)
def test_the_number_that_counts_is_found(
    printed: str, name: str, direction: Direction | None, found: tuple[str, Direction]
) -> None:
    assert find_metric(printed, name=name, direction=direction) == found


@pytest.mark.parametrize(
    ("printed", "name", "words"),
    [
        ("loss: 1", "acc", "No line `acc: <number>` was printed. The last lines were:\nloss: 1"),
        ("x", "", "No line `name: <number>` was printed, so there is nothing to read. The last lines were:\nx"),
        (" ", "", "No line `name: <number>` was printed, so there is nothing to read. Nothing at all was."),
        (
            "lr: 0.1",
            "",
            "No line `name: <number>` was printed, so there is nothing to read. The last lines were:\nlr: 0.1",
        ),
        ("thing: 4", "", "`thing` does not tell whether more of it is better."),
    ],
)
def test_a_number_that_is_not_found_is_told(printed: str, name: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_metric(printed, name=name, direction=None)
    assert str(caught.value) == words


# --- races, experiments, known cases


def test_a_race_is_settled_and_told_or_too_noisy() -> None:
    steady, rough = [1.0, 1.0, 1.05], [1.0, 1.5, 1.0]
    assert [is_settled(t) for t in (steady[:2], steady, rough, rough * 3, (rough * 3)[:8])] == [
        False,
        True,
        False,
        True,
        False,
    ]
    assert (spread([1.0, 2.0, 3.0]), spread([1.0, 1.0, 1.1, 1.1])) == (0.25, pytest.approx(0.05 / 1.05))
    assert [is_settled([1.0, 1.0, 1.0, late, late]) for late in (1.09, 1.11)] == [True, False]
    assert speedup([1.0, 2.0, 4.0], [2.0, 2.0, 2.0]) == 1.0
    assert speedup([1.0] * 3, [1.0, 1.15, 1.3]) == 1.15
    with pytest.raises(NotMeasured) as caught:
        speedup([1.0] * 3, [1.0, 1.25, 2.0])
    assert str(caught.value) == (
        "The machine is too noisy to time anything: the initial files, the same work each time, took 1 to 2 s of processor time in 3 runs; "
        "± 20% was seen, ± 15% is needed."
    )


def system(**more: Any) -> SystemExperiment:
    return SystemExperiment.model_validate({"editable": ["a"], "run": "python a", "metric": {"name": "m"}} | more)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"metrics": [{"name": "m"}]}, "Value error, two metrics have one name"),
        ({"metric": {"name": "m", "kind": "cpu_seconds"}, "run": {"command": "x", "outside": True}},
         "Value error, `m` counts the processor time of a box, and `run` is `outside` of one"),
        ({"metric": {"name": "m", "kind": "speedup"}},
         "Value error, a metric of kind `speedup` needs `outputs` of `run`, which must be those of the initial files"),
        ({"repo": "https://x/y"}, "Value error, a `repo` that is a URL needs a `revision`"),
        ({"metric": {"name": "m", "pattern": "("}}, ("Value error, is no regular expression: missing ), unterminated subpattern at "
                                                    "position 0")),
    ],
)  # fmt: skip
def test_an_experiment_that_contradicts_itself_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        system(**given)
    assert caught.value.errors()[0]["msg"] == words


def test_what_an_experiment_says_of_itself() -> None:
    whole = system(
        evaluate=["python", "b c"],
        guards=["make 'x y'", {"command": ["z"]}],
        metrics=[{"name": "n", "kind": "cpu_seconds"}],
    )
    assert [c.command for c in whole.commands] == [("make", "x y"), ("z",), ("python", "a"), ("python", "b c")]
    assert [m.name for m in whole.all_metrics] == ["m", "n"]
    assert whole.self_reported == system(apart=True).self_reported == ()
    assert system(metrics=[{"name": "n", "kind": "cpu_seconds"}]).self_reported == ("score", "m")
    assert system(metric={"name": "m", "kind": "cpu_seconds"}, metrics=[{"name": "n"}]).self_reported == ("n",)
    assert (system().is_remote, system(repo="https://x", revision="r").is_remote) == (False, True)
    assert (system().metric.sign, system(metric={"name": "m", "direction": "minimize"}).metric.sign) == (1.0, -1.0)
    guards = ({}, {"minimum": 0.0}, {"maximum": 0.0}, {"may_worsen": 0.0})
    assert [system(metric={"name": "m"} | guard).metric.is_guarded for guard in guards] == [False, True, True, True]
    memory = ({}, {"memory_mb": 5}, {"gpus": 1}, {"gpus": 1, "memory_mb": 5}, {"outside": True, "memory_mb": 5})
    assert [Command(command="x", **given).most_memory_mb for given in memory] == [2048, 5, None, 5, None]  # type: ignore[arg-type]


def test_the_cases_of_an_experiment_whose_order_is_known() -> None:
    flags = {case.name: case for case in field_cases("compiler_flags", {"flags.txt": "-O1\n"})}
    assert {name: (case.kind, case.other, case.repeats, case.values["files"]["flags.txt"]) for name,
    case in flags.items()} == {  # type: ignore[index]
        "worse": ("anchor", "", 1, "-O0\n"), "plain": ("order", "worse", 1, "-O1\n"), "better": ("order", "plain", 1, "-O3\n"),
        "null": ("same", "plain", 1, "-O1\n-fno-ident\n"),
    }  # fmt: skip
    stock = {case.name: case for case in field_cases("stock", {"policy.json": '{\n"a": 60,\n"b": 1\n}\n'})}
    assert {name: (case.kind, case.expected, case.rel_tol, case.repeats, case.values["files"]["policy.json"]) for name,
    case in stock.items()} == {  # type: ignore[index]
        "worse": ("known", -360.0, 0.02, 1, '{\n"a": 0,\n"b": 1\n}\n'), "plain": ("order", None, 0.0, 3, '{\n"a": 60,\n"b": 1\n}\n'),
        "better": ("order", None, 0.0, 1, '{\n"a": 48,\n"b": 1\n}\n'), "null": ("same", None, 0.05, 3, '{\n"b": 1,\n"a": 60\n}\n'),
        "best": ("known", -11.448, 0.05, 3, '{\n"a": 48,\n"b": 1\n}\n'),
    }  # fmt: skip
    assert [is_field(name) for name in ("stock", "speed")] == [True, False]
