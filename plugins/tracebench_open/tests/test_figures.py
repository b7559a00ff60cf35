"""The figures that a page of receipts tells, by statistics written a second time, beside those of another library; and their words."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tracebench_open.bench.alone import page as shown
from tracebench_open.bench.alone import receipts, sums
from tracebench_open.bench.alone.receipts import Receipt, WrongError
from tracebench_open.bench.alone.what_if import followed
from tracebench_open.submission import _cell as cell_of_submission


@pytest.fixture(scope="module")
def stats() -> Any:
    """Return the other library of these statistics."""
    return pytest.importorskip("scipy.stats", reason="SciPy is not installed")


def test_distributions_are_those_of_another_library(stats: Any) -> None:
    from scipy import special

    for x, a, b in (
        (0.3, 2.0, 5.0),
        (0.9, 2.0, 5.0),
        (0.5, 0.5, 0.5),
        (0.01, 3.0, 0.5),
        (1.0, 2.0, 3.0),
        (0.0, 2.0, 3.0),
        (-1.0, 1.0, 1.0),
    ):
        assert sums.beta_share(x, a, b) == pytest.approx(special.betainc(a, b, min(max(x, 0.0), 1.0)), abs=1e-12)
    for t, df in ((0.0, 3), (2.0, 1), (-2.5, 7), (40.0, 30)):
        assert sums.t_tails(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), abs=1e-12)
    for df in (1, 2, 9, 200):
        assert sums.t_quantile(df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-9)
    for x, a in ((0.0, 2.0), (-1.0, 2.0), (0.5, 1.0), (3.0, 2.5), (3.4, 2.5), (3.6, 2.5), (40.0, 2.0)):
        assert sums.gamma_tail(x, a) == pytest.approx(special.gammaincc(a, max(x, 0.0)), abs=1e-12)
    for z in (-3.0, 0.0, 1.5):
        assert sums.normal_cdf(z) == pytest.approx(stats.norm.cdf(z), abs=1e-15)
    for width, groups in ((2.0, 2), (3.5, 5)):
        assert sums.range_tail(width, groups) == pytest.approx(stats.studentized_range.sf(width, groups, 1e9), abs=1e-6)


def test_a_mean_has_students_interval(stats: Any) -> None:
    found = sums.mean_of([1.0, 2.0, 4.0])
    low, high = stats.t.interval(0.95, 2, loc=7 / 3, scale=stats.sem([1.0, 2.0, 4.0]))
    assert (found["estimate"], found["low"], found["high"]) == pytest.approx((7 / 3, low, high))
    assert sums.mean_of([2.0]) == {"estimate": 2.0, "low": None, "high": None}
    assert sums.mean_of([1.0, 1.0 + 1e-12]) == {
        "estimate": pytest.approx(1.0),
        "low": pytest.approx(1.0),
        "high": pytest.approx(1.0),
    }
    assert sums.variance([1.0, 1.0 + 2e-9], 1.0) > 0 == sums.variance([1.0, 1.0 + 0.5e-9], 1.0)


def test_differences_are_paired_and_pooled_over_tasks(stats: Any) -> None:
    one, other = {"a": 3.0, "b": 5.0, "c": 4.0}, {"a": 1.0, "b": 2.0, "c": 4.5}
    found = sums.difference({"t": one}, {"t": other})
    told = stats.ttest_rel([*one.values()], [*other.values()])
    low, high = told.confidence_interval(0.95)
    assert (found["estimate"], found["low"], found["high"], found["p"]) == pytest.approx((1.5, low, high, told.pvalue))
    both = sums.difference({"t": one, "u": {"a": 1.0, "b": 2.0}}, {"t": other, "u": {"a": 0.0, "b": 0.0}})
    errors = [stats.tvar([2.0, 3.0, -0.5]) / 3, stats.tvar([1.0, 2.0]) / 2]
    df = math.floor(sum(errors) ** 2 / (errors[0] ** 2 / 2 + errors[1] ** 2 / 1))
    assert both["estimate"] == 1.5
    assert both["high"] - 1.5 == pytest.approx(stats.t.ppf(0.975, df) * math.sqrt(sum(errors)) / 2)
    assert sums.difference({"t": {"a": 2.0}}, {"t": {"a": 1.0}}) == {
        "estimate": 1.0,
        "low": None,
        "high": None,
        "p": 1.0,
    }
    same = {"a": 1.0, "b": 1.0, "c": 1.0}
    assert sums.difference({"t": same}, {"t": same}) == {"estimate": 0.0, "low": 0.0, "high": 0.0, "p": 1.0}
    more = {"a": 2.0, "b": 2.0, "c": 2.0}
    assert sums.difference({"t": more}, {"t": same}) == {"estimate": 1.0, "low": None, "high": None, "p": 0.25}
    mixed = sums.difference({"t": more, "u": same}, {"t": same, "u": more})
    assert mixed == {"estimate": 0.0, "low": 0.0, "high": 0.0, "p": 1.0}
    pair = {"a": 2.0}
    assert sums.difference({"t": {"a": 2.0, "b": 2.0}}, {"t": {"a": 1.0, "b": 1.0}})["p"] == 0.5
    assert sums.difference({"t": pair}, {"t": {"a": 2.0 + 1e-12}})["estimate"] == 0.0


def test_probabilities_are_adjusted_and_ranks_compared(stats: Any) -> None:
    assert sums.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert sums.holm([0.6, 0.7]) == [1.0, 1.0]
    assert sums.holm([]) == []
    assert sums.ranks_of([3.0, 1.0, 3.0, 2.0]) == [1.5, 4.0, 1.5, 3.0]
    blocks = [[1.0, 2.0, 3.0], [1.0, 3.0, 3.0], [2.0, 1.0, 4.0], [0.0, 1.0, 2.0]]
    found = sums.compare_ranks(blocks)
    assert found["ranks"] == pytest.approx([2.75, 2.125, 1.125])
    assert found["p"] == pytest.approx(stats.friedmanchisquare(*zip(*blocks, strict=True)).pvalue)
    assert found["critical"] == pytest.approx(
        stats.studentized_range.ppf(0.95, 3, 1e9) / math.sqrt(2) * math.sqrt(3 * 4 / (6 * 4)), rel=1e-5
    )
    assert (found["blocks"], sums.compare_ranks([[1.0, 1.0]] * 2)["p"]) == (4, 1.0)


def test_trainers_are_compared_with_the_reference_and_ranked() -> None:
    scores = {
        "A": {"t": {"1": 1.0, "2": 2.0}, "u": {"1": 3.0, "2": 3.5}},
        "B": {"t": {"1": 0.0, "2": 0.5}, "u": {"1": 1.0, "2": 3.0}},
    }
    told = sums.against(scores, ["t", "u"], "B")
    assert {name: {*by} for name, by in told.items()} == {"A": {"t", "u"}}
    assert told["A"]["t"]["holm"] >= told["A"]["t"]["p"]
    assert sums.against(scores, ["t"], "C") == sums.overall(scores, "C") == {}
    overall = sums.overall(scores, "B")
    assert overall["A"]["estimate"] == pytest.approx((1.25 + 1.25) / 2)
    by_draw, by_task = sums.ranks(scores, ["t", "u"], by_draw=True), sums.ranks(scores, ["t", "u"], by_draw=False)
    assert by_draw is not None
    assert by_task is not None
    assert (by_draw["blocks"], by_task["blocks"], by_task["ranks"]) == (4, 2, {"A": 1.0, "B": 2.0})
    assert (
        sums.ranks({"A": scores["A"]}, ["t", "u"], by_draw=True)
        is sums.ranks(scores, ["t"], by_draw=False)
        is sums.ranks({}, ["t"], by_draw=True)
        is None
    )


def result(
    status: str = "ok", *, test: float | None = 1.0, val: float | None = 2.0, seed: int = 1, **more: Any
) -> dict[str, Any]:
    used = {"llm_calls": 2, "evaluations": 4, "usd": 0.5, "seconds": 3.0, "tokens": 0}
    return {
        "status": status, "stop_reason": "", "used": used, "score_test": test, "score_test_initial": 0.5, "score_val_best": val,
        "seed": seed,
        "score_val_initial": 0.25, "time_seconds": 10.0, "data": {"test": 1}, "best_step": None, "steps": [],
    } | more  # fmt: skip


UNUSED = {"llm_calls": 0, "evaluations": 0, "usd": None, "seconds": 0.0, "tokens": 0}


@pytest.mark.parametrize(
    ("told", "is_so"),
    [
        ({"status": "skipped", "stop_reason": "not applicable: x", "used": UNUSED}, True),
        ({"status": "failed", "stop_reason": "not applicable: x", "used": UNUSED}, False),
        ({"status": "skipped", "stop_reason": "cap", "used": UNUSED}, False),
        *(({"status": "skipped", "stop_reason": "not applicable: x", "used": UNUSED | {axis: 1}}, False)
          for axis in ("llm_calls", "evaluations", "tokens", "usd")),
    ],
)  # fmt: skip
def test_only_what_used_nothing_was_not_for_it(told: dict[str, Any], is_so: bool) -> None:
    assert receipts.not_for_it(result(**told)) is is_so


def receipt(jobs: list[tuple[str, str, dict[str, Any]]], *, one_scale: bool = False, ledger: bytes = b"") -> Receipt:
    """Return a receipt as it is once it was read: jobs as (trainer, task, result)."""
    made = cast("Any", object.__new__(Receipt))
    made.part = {"one_scale": one_scale}
    made.manifest = {
        "jobs": [
            {
                "job_id": f"j{n}",
                "trainer_id": who,
                "task_id": task,
                "seed": told["seed"],
                "eval_kwargs": {},
                "budget": {},
            }
            for n, (who, task, told) in enumerate(jobs)
        ]
    }
    made.results = {f"j{n}": told for n, (_, _, told) in enumerate(jobs)}
    made.spent = {"llm_calls": 7, "usd": 0.25}
    made.files = {"llm/ledger.jsonl": ledger}
    return cast("Receipt", made)


def test_the_figures_of_a_run() -> None:
    none = {
        "status": "skipped",
        "stop_reason": "not applicable: x",
        "used": UNUSED,
        "test": None,
        "val": None,
        "data": {},
    }
    jobs = [
        ("B", "t", result(test=1.0)), ("B", "t", result(test=2.0, seed=2)), ("B", "u", result(test=None, val=3.0, data={"train": 1})),
        ("B", "u", result(test=None, val=4.0, seed=2, data={"train": 1})),
        ("A", "t", result(test=2.0)), ("A", "t", result("timeout", test=4.0, seed=2)), ("A", "u", result(val=3.0, data={"train": 1})),
        ("A", "u", result(val=5.0, seed=2, data={"train": 1})),
        ("C", "t", result(test=2.0)), ("C", "t", result("failed", test=3.0, seed=2)), ("C", "u", result(val=3.0)),
        ("C", "u", result(val=4.0, seed=2)),
        ("N", "t", result(**none)), ("N", "t", result(seed=2, **none)), ("N", "u", result(**none)), ("N", "u", result(seed=2, **none)),
    ]  # fmt: skip
    for _, task, told in jobs:
        if task == "u" and told["data"]:
            told["data"] = {"train": 1}
    found = sums.figures(receipt(jobs), "B")
    assert (found["tasks"], found["selected"], found["draws"]) == (["t", "u"], ["u"], 2)
    assert found["initial"] == {"t": 0.5, "u": 0.25}
    used = {"llm_calls": 2.0, "evaluations": 4.0, "usd": 0.5, "seconds": 3.0}
    assert found["ended"] == {
        "B": {"jobs": 4, "scored": 4, "run": 4, **used}, "A": {"jobs": 4, "scored": 4, "run": 4, **used},
        "C": {"jobs": 4, "scored": 3, "run": 4, **used},
        "N": {"jobs": 4, "scored": 0, "run": 0},
    }  # fmt: skip
    assert {name: {task: one["estimate"] for task, one in by.items()} for name, by in found["means"].items()} == {
        "B": {"t": 1.5, "u": 3.5}, "A": {"t": 3.0, "u": 4.0},
    }  # fmt: skip
    assert {name: [*by] for name, by in found["apart"].items()} == {"C": ["u"]}
    assert found["against"]["A"]["t"]["estimate"] == 1.5
    assert (found["overall"], found["spent"], found["seconds"]) == (None, {"llm_calls": 7, "usd": 0.25}, 160.0)
    assert found["ranks"]["ranks"] == {"B": 2.0, "A": 1.0}
    scaled = sums.figures(receipt(jobs[:8], one_scale=True), "B")
    assert (scaled["overall"]["A"]["estimate"], scaled["ranks"]["blocks"]) == (1.0, 4)
    unknown = sums.figures(receipt([("B", "t", result(score_test_initial=None))]), "B")
    assert (unknown["initial"], unknown["ranks"]) == ({"t": None}, None)


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [(0.0, 3, "+0.000"), (-0.0001, 3, "+0.000"), (-0.0006, 3, "-0.001"), (1.25, 1, "+1.2"), (None, 3, "")],
)
def test_a_number_has_its_sign_and_nothing_is_never_negative(value: float | None, places: int, text: str) -> None:
    assert shown.signed(value, places) == text
    if value is not None:
        assert shown.plain(value, places) == text.removeprefix("+")


FIGURES: dict[str, Any] = {
    "tasks": ["x:a/t", "u"], "selected": ["u"], "initial": {"x:a/t": 0.5, "u": None}, "seconds": 90.0,
    "spent": {"llm_calls": 5, "usd": 0.5},
    "means": {"A": {"x:a/t": {"estimate": 1.0, "low": 0.5, "high": 1.5}, "u": {"estimate": 2.0, "low": None, "high": None}},
              "B": {"x:a/t": {"estimate": 0.0, "low": 0.0, "high": 0.0}, "u": {"estimate": 1.0, "low": 1.0, "high": 1.0}}},
    "apart": {"C": {"u": {"estimate": 3.0, "low": 2.0, "high": 4.0}}},
    "against": {"A": {"x:a/t": {"estimate": 1.0, "low": 0.5, "high": 1.5, "holm": 0.05},
    "u": {"estimate": -1.0, "low": None, "high": None, "holm": 0.04}}},
    "overall": {"A": {"estimate": 0.1, "low": -0.1, "high": 0.3, "holm": 0.06}},
    "ranks": {"ranks": {"A": 2.0, "B": 1.0}, "blocks": 2, "p": 0.123, "critical": 1.0},
    "ended": {"A": {"jobs": 2, "scored": 1, "run": 2, "llm_calls": 1.5, "evaluations": 2.0, "usd": 0.00002, "seconds": 3.0},
              "B": {"jobs": 2, "scored": 2, "run": 2, "llm_calls": 1.0, "evaluations": 2.0, "usd": 0.0, "seconds": 1.0},
              "C": {"jobs": 2, "scored": 0, "run": 0}},
}  # fmt: skip
BENCH: dict[str, Any] = {
    "words": {"head": ["# Head"], "tail": ["Tail."]}, "reference": "B", "alpha": 0.05, "folder": "f", "not_run": 3, "prices": {},
    "machine": "M",
    "versions": ["v1", "v2"], "commit": "c0", "seconds": 120.0, "registration": "r" * 64,
    "release": {"name": "n", "commitment": "k", "secret": "s"},
    "parts": [{"name": "p", "title": "Part", "words": ["Words."], "file": "p.zip", "run_id": "run", "head": "h" * 64}],
}  # fmt: skip
PAGE = f"""\
# Head

## Part

Words.

Every figure of this section is of one run: [its receipt](f/p.zip), `run`, journal head `{"h" * 16}`; 6 jobs.

| optimizer | `t` | `u` † | mean rank |
|---|---|---|---|
| B | 0.000 ±0.000 | 1.000 ±0.000 | 1.00 |
| A | 1.000 ±0.500 | 2.000 ±? | 2.00 |
| C |  | 3.000 ±1.000 | |
| (initial) | 0.500 |  | |

{shown.CHOSEN}

Ranks over 2 blocks: critical difference 1.00 (Nemenyi, 5 %), Friedman p = 0.12. First is B; **not resolved** from it: none. Behind it: A.

Minus `B`, paired by seed, with 95 % intervals; `better` and `worse` after Holm over all cells of the table:

| optimizer | `t` | `u` † | all of them |
|---|---|---|---|
| A | +1.000 [+0.500, +1.500] better | -1.000 worse | +0.100 [-0.100, +0.300] not resolved |

| optimizer | jobs with a score | calls a job | evaluations a job | USD a job | seconds a job |
|---|---|---|---|---|---|
| B | 2 of 2 | 1.0 | 2.0 | 0.00000 | 1.00 |
| A | 1 of 2 | 1.5 | 2.0 | 0.00002 | 3.00 |
| C | none: it says that these tasks are not for it | | | | |

## What all of it cost

6 jobs, 5 model calls, 0.5000 USD at the prices stated above (nobody was paid: the model is a script), 1.5 \
minutes of jobs, 2.0 minutes on the clock.

**Promised and not run: 3 jobs**, whole parts of which no job was begun.

[Other budgets and prices](f/what-if.html): the same runs, cut short or paid for otherwise, by sliders.

Machine: M. Versions: v1, v2. Commit: `c0`.

Tail.

## Check it

```console
$ python3 -I -S f/check.py f --page f.md
$ trace-bench open-bench verify f --page f.md
```

The first needs nothing but Python 3.11, the second computes every figure with the bench's own library. Head \
of the registration, written before \
the first call: `{"r" * 64}`. Fields: release `n`, commitment `k`, secret given away with this page: `s`. Root of all receipts: `ROOT`.
"""


def test_a_page_tells_its_figures() -> None:
    assert shown.page(BENCH, {"p": FIGURES}, "ROOT") == PAGE
    bare = {name: value for name, value in BENCH.items() if name != "prices"} | {"not_run": 0, "release": None}
    alone = FIGURES | {"selected": [], "ranks": None, "overall": None}
    told = shown.page(bare, {"p": alone}, "ROOT")
    assert "Too few optimizers or tasks for ranks.\n" in told
    assert "| optimizer | `t` | `u` |\n|---|---|---|\n| A | +1.000 [+0.500, +1.500] better | -1.000 worse |\n" in told
    for words in ("†", "Promised and not run", "sliders", "Fields: release"):
        assert words not in told
    assert [*shown.differing("a\nb", "a\nc\nd")] == [
        "line 2 of the page is not what the receipts give:\n  page:     b\n  computed: c",
        "line 3 of the page is not what the receipts give:\n  page:     (no line)\n  computed: d",
    ]


def test_a_chain_is_unbroken_to_its_head() -> None:
    def line(number: int, before: str) -> tuple[bytes, str]:
        plain = json.dumps({"n": number, "prev": before}).encode()[:-1]
        own = hashlib.sha256(plain + b"}").hexdigest()
        return plain + f',"sum":"{own[:16]}"}}'.encode(), own

    first, one = line(0, "0" * 64)
    second, two = line(1, one)
    assert [record["n"] for record in receipts.chained(first + b"\n" + second + b"\n", two)] == [0, 1]
    for lines, head, words in (
        ((first, second), one, f"the journal ends with {two[:16]}, and bench.json tells {one[:16]}"),
        ((second,), two, "line 0 of the journal is not what follows the line before it"),
        ((first, first), one, "line 1 of the journal is not what follows the line before it"),
        ((first.replace(b'"n": 0', b'"n": 1'),), one, "line 0 of the journal is not what follows the line before it"),
        ((b"x" * 40,), one, "line 0 of the journal is no JSON: Expecting value: line 1 column 1 (char 0)"),
    ):
        with pytest.raises(WrongError) as caught:
            receipts.chained(b"\n".join(lines), head)
        assert str(caught.value) == words


def test_trees_of_hashes_are_those_of_rfc_9162() -> None:
    def leaf(text: bytes) -> bytes:
        return hashlib.sha256(b"\0" + text).digest()

    def node(one: bytes, other: bytes) -> bytes:
        return hashlib.sha256(b"\1" + one + other).digest()

    a, b, c = (leaf(text) for text in (b"a", b"b", b"c"))
    assert receipts.merkle([]) == hashlib.sha256(b"").hexdigest()
    assert [receipts.merkle([b"a", b"b", b"c"][:n]) for n in (1, 2, 3)] == [
        a.hex(),
        node(a, b).hex(),
        node(node(a, b), c).hex(),
    ]
    assert receipts.canonical({"b": 1, "a": "é"}) == '{"a":"é","b":1}'.encode()


def test_jobs_are_paired_and_grouped_by_what_they_share() -> None:
    job = {
        "task_id": "t",
        "seed": 3,
        "eval_kwargs": {"instance": 1},
        "budget": {"llm_calls": 5, "usd": None, "strict": False, "evaluations": 0},
    }
    assert receipts.cell_of(job) == '["t",{"llm_calls":5}]'
    assert receipts.draw_of(job) == '[{"instance":1},3]'
    assert cell_of_submission("t", {"instance": 1, "release": "r", "size": 2}, job["budget"]) == (
        "t",
        '[{"size": 2}, {"llm_calls": 5}]',
    )
    release = {"secret": "s", "commitment": hashlib.sha256(b"s").hexdigest()}
    of_fields = SimpleNamespace(manifest={"jobs": [{"task_id": "fields:x"}]})
    other = SimpleNamespace(manifest={"jobs": [{"task_id": "other:x"}]})
    for bench, runs, told in (
        (None, [other], []), (release, [of_fields], []),
        (None, [other, of_fields], ["bench.json: there are fields, and their secret was not given away"]),
        (release | {"secret": "t"}, [of_fields], ["bench.json: the fields' secret is not the one that was committed to"]),
    ):  # fmt: skip
        assert [*receipts.secrets({"release": bench}, cast("Any", runs))] == told


def test_each_job_is_followed_step_by_step() -> None:
    def call(job: str, prompt: int, completion: int, **more: Any) -> str:
        told = {
            "kind": "llm_call",
            "phase": "training",
            "status": "ok",
            "job_id": job,
            "prompt_tokens": prompt,
            "completion_tokens": completion,
        }
        return json.dumps(told | more)

    lines = [
        call("j0", 10, 1),
        call("j1", 5, 5),
        call("j0", 20, 2),
        call("j0", 9, 9, status="error"),
        call("j0", 9, 9, phase="judging"),
        call("j0", 9, 9, kind="x"),
    ]
    steps = [
        {"used": {"llm_calls": calls, "evaluations": evaluations}, "best": best}
        for calls, evaluations, best in ((0, 1, None), (1, 2, 0.12345678912), (5, 9, 1.0))
    ]
    made = receipt(
        [
            ("A", "t", result(steps=steps, best_step=2)),
            ("B", "t", result(steps=steps[:1], data={"train": 1})),
            ("A", "u", result(val=None, data={"train": 1})),
        ],
        ledger="\n".join(lines).encode(),
    )
    one, other, third = followed(made)
    assert one == {
        "task": "t", "trainer": "A", "draw": "[{},1]", "initial": 0.5, "returned": 1.0, "found": 2,
        "steps": [[0, 1, 0, 0, None], [1, 2, 10, 1, 0.123456789], [2, 9, 30, 3, 1.0]],
    }  # fmt: skip
    assert (other["found"], other["steps"], other["returned"]) == (-1, [[0, 1, 0, 0, None]], 1.0)
    assert (third["initial"], third["returned"]) == (0.25, None)


def test_a_file_that_is_no_receipt_is_told(tmp_path: Path) -> None:
    import zipfile

    (tmp_path / "bench.json").write_text(
        json.dumps(
            {"parts": [{"name": "p", "file": "p.zip", "head": "0"}, {"name": "q", "file": "../q.zip", "head": "0"}]}
        )
    )
    for write, words in (
        (lambda path: path.write_text("x"), "p.zip: it cannot be read: File is not a zip file"),
        (lambda path: zipfile.ZipFile(path, "w").close(), "p.zip: `journal-main.jsonl` is missing"),
    ):
        write(tmp_path / "p.zip")
        _, found, wrong = receipts.read(tmp_path)
        assert (found, wrong) == ({}, [words, "../q.zip: its name is no file's"])
