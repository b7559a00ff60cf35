"""What a comparison says of small runs with chosen scores, one for each thing that it may say: as Markdown, as data, for CI, in hints."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.kept.store import Said, said_of_each
from tests.kept.text import digest_of, text_of
from tests.unit.analysis.runs import make_run
from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.comparison.document import comparison_data, standing_rows
from tracebench_analysis.comparison.gates import is_met, parse_gate
from tracebench_analysis.comparison.sentences import what_next
from tracebench_analysis.comparison.settling import hints, settling
from tracebench_analysis.report.html import render_main
from tracebench_analysis.report.sections import brief_leaderboard
from tracebench_analysis.report.text import render_junit, render_markdown
from tracebench_core.errors import UsageError
from tracebench_core.specs import Budget, BudgetState, Gain, Judge, ProposalCounts, RunConfig, SplitData
from tracebench_core.specs.job import ErrorInfo
from tracebench_runs.meta.meta import write_config
from tracebench_runs.reading.reader import Run

ABC, ONE, TWO = ("A", "B", "C"), ("s:x",), ("s:x", "s:y")
MANY = ("A", "B", "C", "D", "E", "F")
LONG = 160
"""Characters of data from which on a digest is told; Markdown tells most of it in words."""


class World(NamedTuple):
    """Runs to be made, and how they are compared."""

    runs: Sequence[Mapping[str, Any]]
    """What `make_run` is told of each."""
    how: Mapping[str, Any] = {}
    """What `compare_runs` is told."""
    gates: Sequence[str] = ()
    config: Mapping[str, Any] | None = None
    """Of the config that the first run keeps, where it keeps one."""
    is_whole: bool = False
    """Tables are told whole, and not by digests: of as many as have all kinds of cells."""


def ahead(by: Mapping[str, float], *, spread: float = 0.1, base: float = 0.5) -> Callable[[str, str, int], float]:
    """Return scores that lie above a base by what a trainer, or a trainer on a task, is ahead, with noise of its own for every job."""

    def score(trainer: str, task: str, seed: int) -> float:
        more = by.get(f"{trainer} {task}", by.get(trainer, 0.0))
        return round(base + more + random.Random(f"{trainer} {task} {seed}").gauss(0, spread), 6)

    return score


def fixed(by: Mapping[str, float | None]) -> Callable[[str, str, int], float | None]:
    """Return scores by `trainer task seed`, or what of it is told, and 0.5 elsewhere."""

    def score(trainer: str, task: str, seed: int) -> float | None:
        return next((by[k] for k in (f"{trainer} {task} {seed}", f"{trainer} {task}", trainer) if k in by), 0.5)

    return score


def failing(*whose: str) -> dict[str, Any]:
    """Return a run in which some trainers' jobs failed, all or those of `TRAINER TASK SEED`."""

    def ended(trainer: str, task: str, seed: int) -> Mapping[str, Any]:
        if not {trainer, f"{trainer} {task}", f"{trainer} {task} {seed}"} & {*whose}:
            return {}
        error = ErrorInfo(
            type="ValueError", message=f"no <answer>\n in {task}. {'x' * 400 * (seed == 1)}", traceback="T"
        )
        return {"status": "failed", "stop_reason": "error", "error": error, **NO_SCORE}

    return {"ended": ended}


NO_SCORE: Mapping[str, Any] = {
    "score_val_best": None,
    "score_test": None,
    "score_val_initial": None,
    "score_test_initial": None,
}


def _status(by: Mapping[str, str]) -> Callable[[str, str, int], Mapping[str, Any]]:
    def ended(trainer: str, task: str, seed: int) -> Mapping[str, Any]:
        status = by.get(f"{trainer} {task} {seed}") or by.get(f"{trainer} {task}") or by.get(trainer)
        reason = {"timeout": "timeout", "cancelled": "cancelled: by hand", "ok": "budget:usd"}.get(
            status or "", "error"
        )
        return {} if status is None else {"status": status, "stop_reason": reason, **NO_SCORE}

    return ended


def _measured_again(trainer: str, task: str, seed: int) -> Mapping[str, Any]:
    low = 0.4 + 0.01 * seed
    again = (low, low + 0.1 * (trainer == "A") + 0.02 * (trainer == "B" and seed == 2), low)
    return {"score_test_repeats": again, "score_test": sum(again) / 3, "score_val_best": 0.7}


def _with_gain(trainer: str, task: str, seed: int) -> Mapping[str, Any]:
    content = 0.1 * (trainer == "A") + 0.05 * seed
    gain = {"gain": Gain(content=content, form=0.2 - content / 2, split="test")} if trainer != "C" else {}
    return {
        "score_test": 0.3 + content,
        "score_test_initial": 0.1,
        "score_val_best": 0.6,
        "score_val_initial": 0.2,
        **gain,
    }


def _used(trainer: str, task: str, seed: int) -> Mapping[str, Any]:
    amount = {"A": 100, "B": 12_345, "C": 999}[trainer] + seed
    used = BudgetState(
        evaluations=amount, llm_calls=amount // 2, tokens=amount * 10, usd=0.001 * amount, seconds=0.5 * amount
    )
    judge = Judge(version="1", digest="abcdef0123456789") if trainer == "A" else None
    return {
        "used": used, "time_seconds": 7.25 * (seed + 1), "judge": judge, "calibration": "here" if seed else None,
        "proposals": ProposalCounts(), "stop_reason": "completed",
    }  # fmt: skip


WORLDS: Mapping[str, World] = {
    "a clear winner": World([{"score": ahead({"A": 0.5}), "seeds": range(4)}], gates=["A > B", "B > A"], is_whole=True),
    "a clear winner of three": World([{"score": ahead({"A": 0.6, "B": 0.02}), "trainers": ABC, "seeds": range(5)}]),
    "better than some": World([{"score": ahead({"A": 0.6, "B": 0.58}), "trainers": ABC, "seeds": range(5)}]),
    "open": World([{"score": ahead({"A": 0.04}), "seeds": range(6)}], config={"max_workers": 3}),
    "open, one more seed": World([{"score": ahead({"A": 0.1}, spread=0.08), "seeds": range(5), "tasks": ONE}], config={}),
    "open, replayed": World([{"score": ahead({"A": 0.04}), "seeds": range(3)}], config={"mode": "replay", "replay_from": "r9"}),
    "open without prices": World([{"score": ahead({"A": 0.04}), "usd": None, "seeds": range(4)}]),
    "open for nothing": World([{"score": ahead({"A": 0.04}), "usd": 0.0, "seeds": range(4)}]),
    "one seed": World([{"score": ahead({"A": 5.0}), "seeds": [1]}]),
    "alike": World([{"score": fixed({}), "seeds": range(3)}]),
    "alike but for failures": World([{"score": fixed({}), "seeds": range(3), "initial": 0.5, **failing("A s:x 1")}]),
    "the leaders alike": World([{"score": lambda t, k, s: s % 2 if t == "C" else 1.0, "trainers": ABC, "seeds": range(3)}]),
    "one trainer": World([{"score": fixed({}), "trainers": "A", "seeds": range(2)}]),
    "some failed": World([{"score": ahead({"A": 0.3}), "seeds": range(4), **failing("A s:x 1", "A s:x 2", "B s:y 0")}], is_whole=True),
    "some failed, as the worst": World(
        [{"score": ahead({"A": 0.3}), "seeds": range(4), **failing("A s:x 1", "B s:y 0")}], {"policy": "worst"}
    ),
    "some failed, left out": World(
        [{"score": ahead({"A": 0.3}), "seeds": range(4), **failing("A s:x 1", "A s:y 1", "B s:y 0")}], {"policy": "exclude"}
    ),
    "each failed somewhere": World(
        [{"score": ahead({"A": 0.3}), "trainers": MANY[:5], "seeds": range(3), "tasks": ONE,
          **failing(*(f"{t} s:x {i % 3}" for i, t in enumerate(MANY[:5])))}]
    ),
    "all failed": World([{"score": fixed({}), "seeds": range(2), **failing("A", "B")}]),
    "both jobs failed": World([{"score": fixed({}), "seeds": [0], "tasks": ONE, **failing("A", "B")}]),
    "the only job failed": World([{"score": fixed({}), "seeds": [1], "tasks": ONE, "trainers": "A", **failing("A")}]),
    "the only job has no score": World(
        [{"score": fixed({}), "seeds": [0], "tasks": ONE, "trainers": "A", "ended": _status({"A": "ok"})}]
    ),
    "one never scored": World([{"score": fixed({}), "seeds": range(2), "tasks": ONE, **failing("B")}], gates=["A > B"], is_whole=True),
    "one never scored its only job": World([{"score": fixed({}), "seeds": [0], "tasks": ONE, **failing("B")}]),
    "five never scored": World(
        [{"score": fixed({}), "seeds": range(2), "tasks": ONE, "trainers": MANY,
          "ended": _status({"B": "failed", "C": "timeout", "D": "ok", "E": "failed", "F": "timeout", "B s:x 1": "ok"})}]
    ),
    "failed on one task": World(
        [{"score": ahead({"A": 0.2}), "seeds": range(3), "trainers": MANY[:5], **failing("A s:x", "B s:y", "C s:x", "D s:y")}]
    ),
    "never met": World([{"score": fixed({}), "seeds": range(2), **failing("A s:x", "B s:y")}], {"policy": "exclude"}, ["A > B"]),
    "unfinished": World(
        [{"score": ahead({"A": 0.2}), "seeds": range(3), "statuses": {("A", "s:x", 1): "not_run", ("B", "s:x", 2): "not_run"},
          "ended": _status({"B s:y 1": "cancelled"})}], is_whole=True
    ),
    "one unfinished": World([{"score": ahead({}), "seeds": range(3), "statuses": {("A", "s:x", 1): "not_run"}}]),
    "nothing ended": World([{"score": fixed({}), "seeds": [0], "ended": _status({"A": "cancelled", "B": "cancelled"})}]),
    "against a baseline": World(
        [{"score": ahead({"A": 0.6, "C": 0.57, "D": 0.01}), "trainers": MANY[:4], "seeds": range(4), **failing("D s:x 1", "B s:y 2")}],
        {"baseline": "B"}, ["A > B", "B > A"],
    ),
    "against a baseline within a margin": World(
        [{"score": ahead({"A": 0.001, "C": 0.4}, spread=0.01), "trainers": ABC, "seeds": range(5), "entry": {"target": 1.0}}],
        {"baseline": "B", "margin": 0.1}, ["A ~ B", "C ~ B", "B ~ C"],
    ),
    "against a baseline that failed": World([{"score": fixed({}), "seeds": range(2), **failing("B")}], {"baseline": "B"}),
    "against a baseline that nobody met": World(
        [{"score": fixed({}), "seeds": range(2), **failing("A s:x", "B s:y")}], {"policy": "exclude", "baseline": "B"}
    ),
    "against an unknown baseline": World([{"score": fixed({}), "seeds": [0]}], {"baseline": "Bb"}),
    "against a run": World(
        [{"score": fixed({"A s:x 0": 0.7, "A s:x 1": 0.0, "B s:x 0": 0.9}), "seeds": range(3), **failing("A s:y 0", "B s:y 1")},
         {"score": fixed({"A s:x 0": 0.0, "A s:x 1": 0.7}), "seeds": range(3), **failing("A s:y 1", "B s:y 1")}],
        {"baseline": "r0"},
    ),
    "equivalent": World(
        [{"score": ahead({"A": 0.001}, spread=0.01), "seeds": range(5), "entry": {"target": 1.0}}], {"margin": 0.1},
        ["A ~ B", "A > B"],
    ),
    "three equivalent": World(
        [{"score": ahead({"A": 0.001}, spread=0.01), "trainers": ABC, "seeds": range(5), "entry": {"target": 1.0}}], {"margin": 0.1}
    ),
    "real and small": World(
        [{"score": ahead({"A": 0.05, "C": 0.1, "D": 0.15}, spread=0.005), "trainers": MANY[:4], "seeds": range(5),
          "entry": {"target": 1.0}}], {"margin": 0.5},
    ),
    "no margin": World([{"score": fixed({}), "seeds": [0]}], {"margin": 0.0}, []),
    "decided by looks": World([{"score": ahead({"A": 0.5}), "seeds": range(5)}], {"most_seeds": 10}, ["A > B"]),
    "open by looks": World([{"score": ahead({"A": 0.09}), "seeds": range(4)}], {"most_seeds": 20, "margin": 0.9}, ["A > B", "A ~ B"]),
    "open by looks to the end": World([{"score": ahead({"A": 0.01}), "seeds": range(6)}], {"most_seeds": 6}, ["A > B"]),
    "hopeless by looks": World([{"score": ahead({"A": 0.01}), "seeds": range(4)}], {"most_seeds": 6}),
    "too few looks": World([{"score": ahead({}), "seeds": range(3)}], {"most_seeds": 1}),
    "tasks disagree": World(
        [{"score": ahead({"A s:x": 0.5, "B s:y": 0.9}, spread=0.02), "seeds": range(4)}], {"margin": 0.2}, ["A > B", "A ~ B"]
    ),
    "tasks disagree on one scale": World(
        [{"score": ahead({"A s:x": 0.5, "B s:y": 0.9}, spread=0.02), "seeds": range(4), "entry": {"target": 2.0}}],
        {"margin": 5.0}, ["A > B", "A ~ B"], is_whole=True
    ),
    "bounds": World(
        [{"score": fixed({"A s:x": 1.0, "A s:y 1": 0.9, "B s:y 2": 0.1}), "seeds": range(3), "initial": 0.2,
          "entry": {"score_bounds": {"minimum": 0.0, "maximum": 1.0}}}]
    ),
    "a baseline that never varies": World(
        [{"score": lambda t, k, s: 0.3 if t == "NoOp" else 0.3 + 0.1 * (s % 3 + 1) * (t != "B"), "trainers": (*ABC, "NoOp"),
          "seeds": range(5), "used": {"NoOp": 0}}]
    ),
    "some did not improve": World(
        [{"score": lambda t, k, s: 0.0 if (t, k, s) in {("A", "s:x", 1), ("B", "s:x", 0), ("B", "s:y", 0)} else 0.5 + 0.1 * s,
          "seeds": range(4)}]
    ),
    "unequal use": World([{"score": ahead({"A": 0.2}), "trainers": ABC, "seeds": range(3), "used": {"A": 100, "B": 12, "C": 11}}]),
    "nearly equal use": World([{"score": ahead({"A": 0.2}), "seeds": range(3), "used": {"A": 110, "B": 100}}]),
    "all that is used": World(
        [{"score": ahead({"A": 0.2}), "trainers": ABC, "seeds": range(3), "tasks": ONE, "ended": _used, "isolation": "container"}],
        {"axis": "usd"}, is_whole=True
    ),
    "cut at what all had": World(
        [{"score": ahead({"A": 0.2}), "seeds": range(2), "planned": lambda t, k: {"budget": Budget(evaluations=9 if t == "A" else 7)}}]
    ),
    "cut as asked": World([{"score": ahead({"A": 0.2}), "seeds": range(2)}], {"at": 5.7, "axis": "tokens"}),
    "seeds that differ": World(
        [{"score": ahead({"A": 0.2}), "trainers": "A", "seeds": range(4)},
         {"score": ahead({}), "trainers": ("B", "C"), "seeds": range(1, 6)}], is_whole=True
    ),
    "no seed in common": World(
        [{"score": ahead({"A": 0.2}), "trainers": "A", "seeds": range(3), "tasks": ONE},
         {"score": ahead({}), "trainers": "B", "seeds": [3, 4], "tasks": ONE}]
    ),
    "one seed apart": World(
        [{"score": ahead({"A": 0.2}), "trainers": "A", "seeds": range(2), "tasks": ONE},
         {"score": ahead({}), "trainers": "B", "seeds": [0], "tasks": ONE}]
    ),
    "tasks that differ": World(
        [{"score": ahead({"A": 0.2}), "trainers": ("A", "B"), "seeds": range(3)},
         {"score": ahead({}), "trainers": "C", "tasks": ONE, "seeds": range(3)}], is_whole=True
    ),
    "repeated": World(
        [{"score": ahead({"A": 0.2}), "seeds": range(2)},
         {"score": ahead({"B": 0.2}), "seeds": [1], "tasks": ONE, "trainers": "A"}]
    ),
    "named by what differs": World(
        [{"score": ahead({"A": 0.2}), "trainers": ("A", "B", "C", "D"), "seeds": range(2), "tasks": ONE,
          "planned": lambda t, k: {
              "A": {"label": "Mine", "params": {"depth": 2, "width": [1]}}, "B": {"label": "Mine", "params": {"depth": 3}},
              "C": {"trainer_id": "D", "optimizer": "Own", "optimizer_kwargs": {"t": 0.5}}, "D": {"optimizer": "Other"}}[t]}],
        gates=["Mine > D", "D", "A >> B", "A >= B"],
    ),
    "measured again": World([{"score": fixed({}), "trainers": ABC, "seeds": range(3), "tasks": ONE, "ended": _measured_again}]),
    "form and content": World([{"score": fixed({}), "trainers": ABC, "seeds": range(3), "tasks": ONE, "ended": _with_gain}], is_whole=True),
    "names that act": World(
        [{"score": fixed({"<b>*A*</b>|_x_": 0.9}), "trainers": ("<b>*A*</b>|_x_", "www.b.example\x07@c"), "seeds": range(2),
          "tasks": ["s:`x`"], "planned": lambda t, k: {"llm_variant": "fast"}}], is_whole=True
    ),
    "runs that differ": World(
        [{"score": ahead({"A": 0.2}), "seeds": [0], "model": "m1", "head": {"versions": {"core": "1", "plugins": ["a 1"]}},
          "data": {"train": SplitData(examples=3, sha256="aa")}},
         {"score": ahead({"A": 0.2}), "seeds": [1], "model": "m2", "budget": Budget(usd=2), "head": {"versions": {"core": "2"}},
          "data": {"train": SplitData(examples=4, sha256=None)}, "entry": {"target": 3}}]
    ),
    "prices that differ": World(
        [{"score": ahead({}), "seeds": [0], "head": {"prices": {"m": {"prompt": 1}, "n": "x" * 90}}},
         {"score": ahead({}), "seeds": [1], "head": {"prices": {"m": {"prompt": 2}}}}], {"axis": "usd"}
    ),
    "judges that differ": World(
        [{"score": ahead({}), "seeds": [0], "comparability": 1}, {"score": ahead({}), "seeds": [1], "comparability": 2}]
    ),
    "modes that differ": World(
        [{"score": ahead({}), "seeds": [0]}, {"score": ahead({}), "seeds": [1], "planned": lambda t, k: {"mode": "real"}}]
    ),
    "a demonstration": World([{"score": fixed({}), "seeds": [0], "model": "stub-with-answers"}]),
}  # fmt: skip


def comparison_of(name: str, folder: Path) -> list[str]:
    """Return what is said of one world, whose runs are made in a folder; what is refused, by its words and its hint."""
    world = WORLDS[name]
    runs = [make_run(folder / f"r{i}", **fields) for i, fields in enumerate(world.runs)]
    if world.config is not None:
        config = RunConfig(run_id="r0", runs_dir=str(folder), **{"tasks": [{"id": "s:x"}], **world.config})
        write_config(runs[0].layout, config)
    try:
        lines = [*_told(world, runs)]
    except UsageError as err:
        lines = [f"refused: {err}", f"hint: {err.hint}"]
    return [f"  {line}".rstrip() for line in "\n".join(lines).replace(str(folder), "PLACE").split("\n")]


def _told(world: World, runs: Sequence[Run]) -> Iterator[str]:
    found = compare_runs(runs, **world.how)
    head, *tables = render_markdown(runs, found).split("\n## ")
    yield from head.splitlines()
    for table in tables:
        yield from table.splitlines() if world.is_whole else [f"{table.splitlines()[0]}: {digest_of(table)}"]
    for name, value in comparison_data(found).items():
        for number, each in enumerate(value if isinstance(value, list) else [value]):
            told = text_of(each)
            yield f"{name} {number}: {told if len(told) < LONG else digest_of(each)}"
    yield f"rows: {digest_of([*standing_rows(found)])} brief: {digest_of(brief_leaderboard(found))}"
    yield f"page: {digest_of(render_main(runs, found))} junit: {digest_of(render_junit(found))}"
    yield f"next: {what_next(found, runs)}"
    settled = settling(found, runs)
    yield f"settling: {settled} {'' if settled is None else text_of((settled.seeds, settled.usd, settled.seconds))}"
    yield from hints(found, runs)
    for gate in world.gates:
        try:
            yield f"gate {parse_gate(gate)}: {is_met(parse_gate(gate), found)}"
        except UsageError as err:
            yield f"gate {gate} refused: {err} {err.hint}"


def comparisons() -> Said:
    """Return what is said now."""
    return said_of_each(WORLDS, comparison_of)
