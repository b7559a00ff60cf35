"""What the core's plain functions return for many arguments, and what its specs take and refuse: a line for each call."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from tests.kept.store import Said, said_of_each
from tests.kept.text import text_of
from tests.unit.store.samples import job_spec
from tracebench_core import averages, ids, money
from tracebench_core.contracts import EvaluationFailed, NotMeasured
from tracebench_core.errors import BudgetExhausted, ModelError, TraceBenchError, UsageError, quoted
from tracebench_core.options import refuse_unknown_options
from tracebench_core.proposing.answer_format import describe, render_values, shown_values
from tracebench_core.proposing.asking import Asked
from tracebench_core.proposing.conversion import convert
from tracebench_core.proposing.mutation import change_one, is_python, looks_like_code, mutate
from tracebench_core.proposing.patches import DIVIDER, REPLACE, SEARCH, apply_patch, is_patch
from tracebench_core.proposing.rendering import as_text, cut, score_text
from tracebench_core.proposing.replies import read_reply, strip_fence
from tracebench_core.proposing.sampling import Minibatches, draw_subset
from tracebench_core.specs import (
    Bounds,
    Budget,
    BudgetState,
    Calibration,
    Candidate,
    Evaluation,
    Example,
    ExampleResult,
    Feedback,
    JobResult,
    Parameter,
    RunConfig,
    Salts,
    TaskSpec,
    Usage,
)
from tracebench_core.specs.budget import AXES, amounts_of
from tracebench_core.specs.models import LLMConfig, LLMVariant, ModelConfig
from tracebench_core.specs.named import Price
from tracebench_core.specs.order import JobOrder, Sealed
from tracebench_core.specs.parts import AgentSpec, EnvironmentSpec
from tracebench_core.specs.renamed import told
from tracebench_core.specs.run import RetriesConfig, SandboxConfig, SweepRange, TaskEntry, TrainerEntry
from tracebench_core.specs.sandbox import Limits
from tracebench_core.specs.seeds import expand_range, write_seeds
from tracebench_core.specs.task import Requirement, Resources, TaskSizes, TaskVersion

CODE = "def f(x):\n    y = 3 * x + 1.5\n    return y - 1e-3  # 7 is no number\n"
TEXT = "Say it once. Then say it again! Is that all? Yes."
BASE = "one\ntwo\nthree\ntwo\nfour\n"


def _block(search: str, new: str) -> str:
    return f"{SEARCH}\n{search}\n{DIVIDER}\n{new}\n{REPLACE}"


PARAMETERS = (
    Parameter(name="t", kind="text", initial="x", max_length=9, description="What is said."),
    Parameter(name="c", kind="code", initial=CODE, signature="def f(x):"),
    Parameter(name="n", kind="number", initial=1.5, minimum=0.5, maximum=2),
    Parameter(name="i", kind="number", initial=3),
    Parameter(name="k", kind="choice", initial="red", choices=("red", "Blue", 3, True)),
    Parameter(name="j", kind="json", initial=[1, 2]),
    Parameter(name="o", kind="json", initial={"a": 1}),
)
WRITTEN = (
    "text", " Red ", "BLUE", "true", 3, 3.0, 2.5, True, None, "", "4", "4.0", "1e400", float("nan"), 10**400, [1], (1, 2),
    {"a": 2}, "[1, 2]",
    "{'a': (1,)}", '{"a": NaN}', "```python\ndef f(x):\n    return 1\n```", "def f(:", "```\n\n```",
    "def f(x): return '\\d'", {1: {2}}, b"x",
)  # fmt: skip
MUTATED: Sequence[tuple[Any, Mapping[str, Any]]] = (
    (3, {}), (0, {}), (3, {"minimum": 2, "maximum": 4}), (0.5, {}), (0.0, {}), (0.5, {"maximum": 0.5}),
    (100.0, {"minimum": 0, "maximum": 1}),
    (True, {}), ("red", {"choices": ["red", "green", "blue"]}), ("red", {"choices": ["red"]}), (TEXT, {}), (TEXT, {"max_length": 20}),
    ("one sentence only", {}), ("word", {}), ("", {}), (CODE, {}), (CODE, {"kind": "text"}), ("x = 3", {"kind": "code"}),
    ("x = y", {"kind": "code"}),
    ([1, 2.0, "a b"], {}), ({"b": 1, "a": [True]}, {}), ([], {}), ({}, {}), (None, {}),
)  # fmt: skip
REPLIES = (
    "", "no", '{"values": {"t": 1}}', '{"t": 1, "z": 2}', '{"z": 2}', 'so: {"t": "a",} then', '```json\n{"suggestion": {"n": 2}}\n```',
    "{'values': {'t': (1,)}}", '<variable name="t"><value>\n a\n</value></variable>',
    "<variable><name> n </name><value>2</value></variable>", "<variable><value>2</value></variable>",
    "```python\nx = 1\n```\n```\ny\n```", '{"values": 3, "t": "x"}', '{"variables": {"t": "tab\there"}}',
    '{"t": {"deep": [1, {"t": 2}]}}', "{" * 70 + '"t": 1}', '{"t": "a, }"}',
)  # fmt: skip
PATCHES = (
    _block("one", "1"), _block("two", "2"), _block("two\nthree", "2\n3"), _block("", "x"), _block("nowhere", "x"), _block("one\n", ""),
    _block("o", "0"), f"{_block('one', '1')}\n{_block('four', '4')}", f"{_block('one', '1')}\n{_block('one', '2')}",
    f"{SEARCH}\none\n{DIVIDER}\n1", f"{SEARCH}\none\n{REPLACE}", f"{SEARCH}\n{SEARCH}\n", f"{_block('one', '1')}\nmore text",
    "@@ @@\n-one\n+1",
    "@@ -1 +1 @@\n-one\n+1\n", "@@ -4,1 +4,1 @@\n-two\n+2", "@@ -9 +9 @@\n-two\n+2", "@@ -1,2 +1,1 @@\n one\n-two",
    "@@ -1,0 +1,1 @@\n+new", "@@ @@\n one",
    "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+1\n--- a/y\n", "text\n@@ @@\n-one", "@@ @@\n*one", "--- a\n+++ b",
    "@@ -5 +5 @@\n-four\n+4\n\\ No newline at end of file",
    "@@ -5 +5 @@\n-four\n\\ No newline at end of file\n+four",
    "@@ -1 +1 @@\n-one\n+1\n@@ -1 +1 @@\n-one\n+2", f"```\n{_block('one', '1')}\n```",
    "@@ -0,0 +1 @@\n+first",
)  # fmt: skip


def _call(name: str, function: Callable[..., Any], *args: Any, **more: Any) -> str:
    """Return a line that says what a call returns or raises; errors of this project with all that they say."""
    asked = ", ".join([*map(_short, args), *(f"{key}={_short(value)}" for key, value in more.items())])
    try:
        value = function(*args, **more)
    except ValidationError as err:
        return f"{name}({asked}) refused: {told(err)}"
    except TraceBenchError as err:
        return f"{name}({asked}) {type(err).__name__}: {err} hint: {err.hint}"
    except Exception as err:  # noqa: BLE001 - whatever it raises is what is told
        return f"{name}({asked}) {type(err).__name__}: {err}"
    return f"{name}({asked}) = {value if isinstance(value, str) else text_of(value)!s}".replace("\n", "⏎").replace(
        "\r", "␍"
    )


def _short(value: Any) -> str:
    words = text_of(value).replace("\n", "⏎")
    return words if len(words) < 60 else f"{words[:40]}…{len(words)}"


Calls = Sequence[tuple[str, Callable[..., Any], Sequence[Sequence[Any]]]]
"""What is called, by a name, and with which arguments each time."""


def _each(values: Sequence[Any]) -> list[tuple[Any]]:
    return [(value,) for value in values]


def _made(calls: Calls) -> Iterator[str]:
    for name, function, each in calls:
        for args in each:
            yield _call(name, function, *args)


def _proposing(folder: Path) -> Iterator[str]:
    values = {"t": "é", "n": [1.5]}
    shown = (
        render_values(values),
        f"{render_values({'a': 1})}\n{render_values(values)}",
        "none",
        "<current_values>\n[1]\n</current_values>",
    )
    yield from _made([
        *((f"convert {p.name}", partial(convert, p), _each(WRITTEN)) for p in PARAMETERS),
        *(
            (f"read_reply {some[0].name}", lambda reply, some=some: read_reply(reply, some), _each(REPLIES))
            for some in (PARAMETERS[:1], PARAMETERS[1:3])
        ),
        ("is_patch", is_patch, _each(PATCHES)),
        *(
            (f"apply_patch {len(base)}", partial(apply_patch, base), _each(PATCHES))
            for base in (BASE, BASE[:-1], BASE.replace("\n", "\r\n"), "")
        ),
        ("describe", describe, [(PARAMETERS,)]),
        ("render_values", render_values, [(values,)]),
        ("shown_values", shown_values, _each(shown)),
        ("as_text", as_text, _each(("a\n", {"b": 1, "a": {2}}, [float("nan")], {(1, 2): 3}, "é"))),
        ("cut", cut, [("abcde", limit) for limit in (4, 5, 6)]),
        ("score_text", score_text, _each((None, -0.0, 1 / 3, 1e7))),
        ("strip_fence", strip_fence, _each(("```\nx\n```", "```py\nx", "a ```\nx\n```", " ```x\r\ny\r\n``` "))),
    ])  # fmt: skip


def _mutating(folder: Path) -> Iterator[str]:
    start = {parameter.name: parameter.initial for parameter in PARAMETERS}
    texts = ("def f(): pass", " def f():\n  pass", "x = 1", "def (", "class A: ...", "a def b", "\0", "")
    yield from _made([
        ("mutate", lambda value, hint, seed: mutate(value, random.Random(seed), hint=hint),
         [(value, hint, seed) for value, hint in MUTATED for seed in range(8)]),
        ("change_one", lambda seed: change_one(PARAMETERS)(start, random.Random(seed)), _each(range(6))),
        ("is_python", is_python, _each(texts)),
        ("looks_like_code", looks_like_code, _each(texts)),
    ])  # fmt: skip
    examples = [Example(id=f"e{n}", input=n) for n in range(5)]
    for size in (1, 2, 5, 9):
        draws = Minibatches(examples, size, rng=random.Random(3))
        yield f"Minibatches {size}: {[[e.id for e in draws.draw()] for _ in range(6)]}"
    for many in (None, 0, 2, 5, 6):
        yield f"draw_subset {many}: {[e.id for e in draw_subset(examples, many, rng=random.Random(3))]}"
    asked = Asked("m")
    for usage in (
        Usage(prompt_tokens=3, usd=0.5),
        Usage(completion_tokens=2, usd=0.25),
        Usage(usd=None),
        Usage(usd=1.0),
    ):
        asked.pay(usage)
        yield f"Asked: {text_of(asked)} {asked.sampling} {Asked().sampling}"


BIG, ENDLESS = 1.7e308, float("inf")
FIGURES = (
    [1.0, 2.0, 4.0],
    [0.1] * 10,
    [BIG, BIG],
    [BIG, -BIG],
    [ENDLESS, 1.0],
    [ENDLESS, -ENDLESS],
    [1e200, 1e200],
    [BIG, BIG, ENDLESS],
)
NAMES = ("Reflectiv", "REFLECTIVE", "opto", "zzz", "")
RANGES = ("1..3", " -2..0 ", "3..1", "1..100000", "0..100000", "1...3", "a", "1..1", "1..1000000000000000000")


def _counting(folder: Path) -> Iterator[str]:
    known = ["Reflective", "OptoPrime", "Other"]
    yield from _made([
        *((name, getattr(averages, name), _each(FIGURES)) for name in ("mean", "total", "variance")),
        ("money.total", lambda amounts: repr(money.total(amounts)), _each(([0.1, 0.2], [0.1] * 3 + [1e15], [1e-9, 5.0, -5.0], []))),
        ("money.less", lambda *two: repr(money.less(*two)), [(0.3, 0.1)]),
        ("money.exact", lambda amount: repr(money.exact(amount)), [(0.1,)]),
        ("canonical_json", ids.canonical_json, [({"b": [1, "é"], "a": None},)]),
        ("suite_of", ids.suite_of, _each(("suite:task", "./a/b.py@012:t", "bare"))),
        ("run_id", ids.run_id, [(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "0123456789")]),
        ("derive_seed", ids.derive_seed, [(7,), (7, "a"), (7, "a", 1), (7, "b")]),
        ("nearest", ids.nearest, [(name, known) for name in NAMES]),
        ("did_you_mean", ids.did_you_mean, [(name, known) for name in NAMES]),
        ("expand_range", expand_range, _each(RANGES)),
        ("write_seeds", write_seeds, _each(([1, 2, 3], [3, 2, 1, 1], [1, 2], [1], [], [1, 2, 3, 5], [1, 3, 4, 5, 9, 10]))),
        ("quoted", quoted, [("a b'c",)]),
        ("refuse_unknown_options", refuse_unknown_options,
         [("plug", {name: 1}, known) for known in ((), ("depth", "width")) for name in ("dept", "zzz", "depth")]),
    ])  # fmt: skip
    yield from _amounts()


def _amounts() -> Iterator[str]:
    for axis in AXES:
        yield f"axis {axis.name}: {axis.label} {axis.column} {axis.unit!r} {axis.adds_up}"
    usage = Usage(
        llm_calls=2, cached_calls=1, prompt_tokens=5, completion_tokens=4, usd=0.1, retries=1, refused=2, errors=3, estimated_tokens=6
    )  # fmt: skip
    yield f"usage: {text_of(usage + usage)} {text_of(usage + Usage(usd=None))} {usage.tokens} {amounts_of(usage)}"
    yield f"state: {text_of(BudgetState.of(usage, evaluations=3, seconds=1.5))}"
    for budget in (Budget(), Budget(evaluations=0, usd=1.5), Budget(strict=True)):
        yield f"budget: {budget.caps()} {budget.model_dump()}"
    for bounds in (Bounds(), Bounds(minimum=0.0, maximum=1.0), Bounds(maximum=2.5)):
        held = [bounds.hold(figure) for figure in (-0.1, 0.0, 1.0, 1.1, 2.6, float("nan"), ENDLESS)]
        yield f"bounds {bounds}: {held}"
    salts = Salts.derived("ab" * 16)
    yield f"salts: {text_of(salts)} {text_of(salts.by_split)} {text_of(salts.hashes)} {salts.digest} {salts!r}"
    yield f"drawn alike: {Salts.draw() == Salts.draw()}"


LLM = {"model": "m"}
TAKEN: Sequence[tuple[type[BaseModel], Sequence[Mapping[str, Any]]]] = (
    (SweepRange, (
        {"low": 1, "high": 3, "step": 1}, {"low": 0, "high": 1, "step": 0.1}, {"low": 1, "high": 100, "count": 3, "scale": "log"},
        {"low": 0, "high": 1, "count": 2}, {"low": 0, "high": 1}, {"low": 0, "high": 1, "count": 2, "step": 1},
        {"low": 1, "high": 1, "count": 2},
        {"low": 0, "high": 1, "count": 3, "scale": "log"}, {"low": 1, "high": 2, "step": 1, "scale": "log"},
        {"low": 0, "high": 1000, "step": 1},
        {"low": 0, "high": 999, "step": 1}, {"low": 0, "high": 1, "count": 1}, {"low": 0, "high": 1, "count": 1000},
        {"low": 0, "high": 1, "count": 1001},
        {"low": -BIG, "high": BIG, "count": 3}, {"low": 1 / BIG, "high": BIG, "count": 3, "scale": "log"},
        {"low": 0, "high": ENDLESS, "count": 3}, {"low": 0, "high": 1, "step": ENDLESS},
    )),
    (TrainerEntry, (
        {"id": "T"}, {"id": ""}, {"id": "T", "label": " x"}, {"id": "T", "label": "a\nb"}, {"id": "T", "label": "x" * 60}, {"id": "T",
        "label": "x" * 61},
        {"id": "T", "params_variants": []}, {"id": "T", "sweep": {"a": [1, 2], "b": {"low": 1, "high": 2, "count": 2}}}, {"id": "T",
        "lable": "x"},
    )),
    (TaskEntry, ({"id": "a:b"}, {"id": ""}, {"id": "a", "initial": {"run": "r"}}, {"id": "a", "evalkwargs": {}})),
    (SandboxConfig, ({}, {"memory_mb": 0}, {"programs": {"processes": 15}}, {"programs": {"processes": 16}},
    {"programs": {"processes": None}}, {"require": "x"})),
    (RetriesConfig, ({}, {"failed": -1}, {"backoff": -0.5}, {"failed": 2, "error_types": ["A"]})),
    (RunConfig, (
        {}, {"run_id": "r1"}, *({"run_id": bad} for bad in ("", ".", "..", "a/b", "a\\b", "-a", "a\nb", "é" * 64, "é" * 65)),
        {"salt": "NEW"},
        {"salt": "public"}, {"salt": "ab" * 16}, {"salt": "ab" * 15}, {"salt": "a" * 33}, {"salt": "AB" * 16}, {"salt": ""},
        {"seeds": []}, {"seeds": [1, 2]},
        {"scoring_budget": {"usd": 1}}, {"scoring_budget": {"evaluations": 1}}, {"scoring_budget": {"seconds": 1}}, {"runs_dir": "a\0"},
        {"mode": "replay"}, {"mode": "replay", "replay_from": "r"}, {"max_workers": 0}, {"eval_workers": 0}, {"fail_on_error": 1.5},
        {"job_timeout": -1},
        {"job_timeout": 0}, {"job_timeout": 5}, {"mode": "real"}, {"evaluation_retries": -1}, {"max_worker": 1},
        {"budget": {"usd": -1}}, {"share": "all"},
    )),
    (ModelConfig, (
        {}, LLM, *({"model": bad} for bad in ("", " m", "m/", "/", "a /b", "a/ b", "a\nb", "a/b")), {"base_url": "http://h:1/v1"},
        {"base_url": "ftp://h"},
        {"base_url": "http://:1"}, {"base_url": "http://h:0"}, {"base_url": "http://h:99999"}, {"base_url": "http://[x"},
        {"extra_body": {"top_k": 1}},
        {"extra_body": {"max_tokens": 1}}, {"extra_body": {"model": "x", "n": 2}}, {"extra_headers": {"X": "NAME"}},
        {"extra_headers": {"X": "a b"}},
        {"extra_headers": {"X": "sk_" + "a" * 16}}, {"api_key_env": "OPENAI_API_KEY"}, {"api_key_env": "sk_" + "a" * 15},
        {"api_key_env": "sk_" + "a" * 16},
        {"api_key_env": "a1" * 16}, {"api_key_env": "a1" * 15}, {"api_key_env": "hf_" + "A" * 24}, {"api_key_env": "1A"},
        {"max_tokens": 0}, {"top_p": 1.5},
        {"top_p": 1, "temperature": 0},
    )),
    (LLMConfig, ({}, {"timeout": 0}, {"max_retries": -1}, {"max_concurrency": 0}, {"requests_per_minute": 0},
    {"roles": {"agent": LLM}}, {"roles": {"x": LLM}})),
    (LLMVariant, ({}, {"name": " a"}, {"name": "a b"}, {"name": ""}, {"name": "a" * 81}, {"name": "a" * 80})),
    (Price, ({"prompt": 1, "completion": 2}, {"prompt": -1, "completion": 2}, {"prompt": 1}, {"prompt": 0, "completion": 0, "cached": -1})),
    (Calibration, (
        {"name": "a", "kind": "gold"}, {"name": "a", "kind": "gold", "expected": 1}, {"name": "", "kind": "gold", "expected": 1},
        {"name": "a", "kind": "order"},
        {"name": "a", "kind": "ratio", "other": "b"}, {"name": "a", "kind": "ratio", "other": "b", "factor": 0}, {"name": "a",
        "kind": "ratio", "other": "b", "factor": 2},
        {"name": "a", "kind": "same", "other": "a"}, {"name": "a", "kind": "same", "other": "b"}, {"name": "a", "kind": "form"},
        {"name": "a", "kind": "form", "other": "b"},
        {"name": "a", "kind": "anchor"}, {"name": "a", "kind": "anchor", "expected": 1}, {"name": "a", "kind": "anchor", "other": "b"},
        {"name": "a", "kind": "known", "expected": 1, "factor": 2}, {"name": "a", "kind": "known", "expected": float("nan")},
        {"name": "a", "kind": "known", "expected": 0}, {"name": "a", "kind": "refused", "words": "x", "repeats": 0}, {"name": "a",
        "kind": "forged"},
    )),
    (Bounds, ({"minimum": 2, "maximum": 1}, {"minimum": 1, "maximum": 1}, {"minimum": float("inf")})),
    (Feedback, (
        {"score": -0.0}, {"score": float("nan")}, {"score": "1"}, {"score": "NaN"}, {"score": b"1"}, {"score": True},
        {"score": 1, "metrics": {"a": "NaN"}},
        {"score": 1, "metrics": {"a": "long " * 20}}, {"score": 1, "status": "odd"},
    )),
    (Limits, ({}, {"seconds": 0}, {"patience": 0.5}, {"seconds": 2, "patience": 3}, {"memory_mb": 0}, {"file_mb": -1}, {"core": -1},
    {"shared_mb": -1})),
    (TaskSpec, (
        {"name": "t", "loader": "m:f", "title": "T"}, {"name": "t", "loader": "m", "title": "T"}, {"name": "t", "loader": "m:f",
        "title": "T", "content": "score"},
        {"name": "t", "loader": "m:f", "title": "T", "content": "c", "objectives": [{"metric": "c", "direction": "maximize"}]},
        {"name": "t", "loader": "m:f", "title": "T", "failure_score": 1}, {"name": "t", "loader": "m:f", "title": "T", "metrics": "x"},
        {"name": "t", "loader": "m:f", "title": "T", "concurrency": 0}, {"name": "t", "loader": "m:f", "title": "T",
        "evaluation_timeout": 0},
    )),
    (TaskVersion, ({}, {"comparability": 0}, {"interface": 0})),
    (TaskSizes, ({"train": 1}, {"train": 0}, {"train": 1, "validation": -1, "parameters": 0})),
    (Resources, ({}, {"cpus": 0}, {"memory_mb": 0}, {"gpus": -1})),
    (EnvironmentSpec, ({"name": "e", "loader": "m:f", "kind": "k", "scope": "run"}, {"name": "e", "loader": "m:f", "kind": "k",
    "scope": "x", "capacity": 0})),
    (Requirement, ({"kind": "module", "name": "x", "hint": "h"}, {"kind": "odd", "name": "x", "hint": "h"})),
)  # fmt: skip


def _specs(folder: Path) -> Iterator[str]:
    for model, each in TAKEN:
        for fields in each:
            yield _call(model.__name__, lambda fields, model=model: _set(model(**fields)), fields)


def _set(spec: BaseModel) -> Any:
    values = getattr(spec, "values", None)
    if isinstance(spec, SweepRange) and callable(values):
        shown = values()
        return (len(shown), shown[:4], shown[-1])
    if isinstance(spec, RunConfig):
        return {"timeout": spec.timeout, **{name: getattr(spec, name) for name in sorted(spec.model_fields_set)}}
    return {
        name: getattr(spec, name)
        for name in type(spec).model_fields
        if name in spec.model_fields_set or type(spec) is Limits
    }


def _others(folder: Path) -> Iterator[str]:
    job = job_spec(timeout=60.0, budget=Budget(usd=1.0))
    sealed = Sealed(salts={"test": "t"}, keys={"judge": "s"}, record="r")
    access = {"keys": {"judge": {"training": "a"}, "agent": {"training": "b"}}, "base": "x"}
    order = JobOrder(
        job=job, run_dir="/r", sealed=sealed, access=access, salts={"validation": "v"}, scoring_timeout=9.0
    )
    yield f"order: {order.budget.caps()} {order.time_limit} {'sealed' in order.model_dump()} {'record' in repr(order)}"
    for exit_ in ("done", "trained", "timeout", "died", "cancelled", "lost"):
        found = order.next_phase(exit_, "words")
        told_ = (
            None
            if found is None
            else (found.phase, found.ended, found.is_anew, found.access, found.salts, found.record, found.time_limit)
        )
        yield f"after {exit_}: {text_of(told_)} {None if found is None else found.next_phase(exit_, '')}"
    yield f"anew: {order.for_scoring(ended='', is_anew=True).is_anew} {JobOrder(job=job, run_dir='/r').for_scoring(ended='x').access}"
    for seconds, patience in ((1.0, 8.0), (0.5, 1.0)):
        yield f"limits: {Limits(seconds=seconds, patience=patience).clock_seconds}"
    spec = TaskSpec(name="t", loader="m:f", title="T", uses_model=True, modelless={"mode": ("off", 0)})
    yield f"asks_model: {[spec.asks_model(o) for o in ({}, {'mode': 'off'}, {'mode': 0}, {'mode': 'on'}, {'other': 'off'})]}"
    agent = {"name": "a", "program": "p", "wire": "chat", "argv": ("p",)}
    yield f"agents: {[AgentSpec(**agent, **more).is_installable for more in ({}, {'requirements': ('x',)}, {'packages': ('y',)})]}"
    results = [
        ExampleResult(example=e, split="train", seconds=0.5, feedback=Feedback(score=s, status=status, metrics=metrics))
        for e, s, status, metrics in (
            ("a", 1.0, "ok", {"m": 1.0, "n": 2.0}), ("b", 3.0, "invalid", {"m": 2.0}), ("c", 2.0, "timeout", {"m": 0.0, "n": 1.0}),
            ("d", 0.0, "error", {}), ("e", 0.0, "not_measured", {}),
        )
    ]  # fmt: skip
    for some in (results[:1], results[:2], results[:3], results[:4], results, []):
        evaluation = Evaluation(candidate=Candidate(id="c", values={}), results=tuple(some), score=None)
        yield f"evaluation of {len(some)}: {evaluation.status} {text_of(evaluation.metrics)}"
    yield f"without_metric: {text_of(results[0].without_metric('m'))} {results[0].without_metric('z') is results[0]}"
    for err in (
        BudgetExhausted("usd"), BudgetExhausted("usd", scope="run"), ModelError("no", kind="auth", status_code=401, hint="h"),
        UsageError("u"), NotMeasured("why"), NotMeasured("why", retry=False, suspect=True),
        EvaluationFailed(Feedback(score=0, text="bad")),
    ):  # fmt: skip
        told_ = {name: value for name, value in vars(err).items() if name != "parts"}
        yield f"{type(err).__name__}: {err} {text_of(told_)} {getattr(err, 'exit_code', None)}"
    yield f"results: {sorted(JobResult.model_fields)}"


PARTS: Mapping[str, Callable[[Path], Iterator[str]]] = {
    "proposing": _proposing,
    "mutating": _mutating,
    "counting": _counting,
    "specs": _specs,
    "others": _others,
}


def core_of(part: str, folder: Path) -> list[str]:
    """Return what one part of the core says."""
    return [line.rstrip() for line in PARTS[part](folder)]


def core() -> Said:
    """Return what is said now."""
    return said_of_each(PARTS, core_of)
