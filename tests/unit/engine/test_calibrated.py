"""What came of the cases of many tasks: a line for each suite, a table of kinds, and what `calibrate` prints."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tracebench_core.errors import NothingSelectedError, UsageError
from tracebench_core.specs import CaseVerdict
from tracebench_engine.api.calibrating import Calibrated, by_suite, kinds_table, summary_row
from tracebench_engine.cli.parts.calibrate import _conclude, _kinds, _print, _rows, _sum_up


def verdict(kind: str, result: str, case: str = "one", why: str = "") -> CaseVerdict:
    told = {"case": case, "kind": kind, "result": result, "expected": "1", "seen": "2", "why": why}
    return CaseVerdict.model_validate(told)


TASKS = [
    Calibrated(
        "s:a", (verdict("gold", "passed"), verdict("gold", "failed", "bad", "so\nit is"), verdict("ratio", "noisy"))
    ),
    Calibrated("s:b", (verdict("gold", "passed"), verdict("known", "skipped"))),
    Calibrated("s:c", state="without"),
    Calibrated("s:d", state="skipped", why="no Docker"),
    Calibrated("s:e", state="unknown", why="not yet"),
    Calibrated("s:f", state="failed", why="it | broke"),
    Calibrated("t:a", (verdict("gold", "passed"),), kept=False),
]


def test_a_suite_is_a_line_of_counts() -> None:
    suites = by_suite(TASKS)
    assert {suite: [task.task for task in tasks] for suite, tasks in suites.items()} == {
        "s": ["s:a", "s:b", "s:c", "s:d", "s:e", "s:f"], "t": ["t:a"],
    }  # fmt: skip
    assert summary_row("s", suites["s"]) == ("s", "6", "2", "1", "1", "1", "1", "2", "1")
    many = [*suites["s"], *[Calibrated("s:g", state="skipped")] * 2, *[Calibrated("s:h", state="failed")] * 2]
    assert summary_row("s", many)[-3:] == ("1", "4", "3")
    assert summary_row("t", suites["t"]) == ("t", "1", "1", "0", "0", "0", "0", "0", "0")


def test_a_table_has_a_row_for_each_kind_with_the_first_case_that_did_not_come_out() -> None:
    assert kinds_table(TASKS[:6]).splitlines() == [
        "| kind | tasks | cases | came out | one of them |",
        "|---|---|---|---|---|",
        "| `gold` | 2 | 3 | 2 passed, 1 failed | `s:a`, bad: expected 1, seen 2 |",
        "| `known` | 1 | 1 | 1 skipped | `s:b`, one: expected 1, seen 2 |",
        "| `ratio` | 1 | 1 | 1 noisy | `s:a`, one: expected 1, seen 2 |",
        "| without cases | 1 |  |  | `s:c` |",
        "| not measured here | 2 |  |  | `s:d`: no Docker |",
        "| broken | 1 |  |  | `s:f`: it \\| broke |",
    ]
    assert kinds_table(TASKS[6:]).splitlines()[2] == "| `gold` | 1 | 1 | 1 passed | `t:a`, one: expected 1, seen 2 |"


def test_a_cell_shows_as_much_as_fits_in_a_line() -> None:
    long = "x" * 200
    told = kinds_table(
        [Calibrated("s:a", state="failed", why=long), Calibrated(f"s:{long}", (verdict("gold", "passed"),))]
    )
    gold, broken = told.splitlines()[2:]
    assert gold == f"| `gold` | 1 | 1 | 1 passed | `s:{'x' * 157} |"
    assert broken == f"| broken | 1 |  |  | `s:a`: {'x' * 153} |"


@pytest.mark.parametrize(
    ("task", "out", "err"),
    [
        (
            TASKS[0],
            [
                "[OK] s:a one (gold): expected 1, seen 2", "[FAIL] s:a bad (gold): expected 1, seen 2: so it is",
                "[NOISE] s:a one (ratio): expected 1, seen 2",
            ],
            "",
        ),
        (TASKS[2], [], ""), (TASKS[3], ["[SKIP] s:d: no Docker"], ""), (TASKS[4], ["[SKIP] s:e: not yet"], ""),
        (TASKS[5], ["[FAIL] s:f: it | broke"], ""),
        (
            TASKS[6], ["[OK] t:a one (gold): expected 1, seen 2"],
            "What was seen cannot be kept: the folder `trace-bench` in `$XDG_STATE_HOME` cannot be written to.\n",
        ),
    ],
)  # fmt: skip
def test_each_case_is_a_line(task: Calibrated, out: list[str], err: str, capsys: pytest.CaptureFixture[str]) -> None:
    _print(task)
    told = capsys.readouterr()
    assert (told.out.splitlines(), told.err) == (out, err)


def test_at_the_end_stand_the_suites_where_there_are_several(capsys: pytest.CaptureFixture[str]) -> None:
    _sum_up(TASKS[:6], as_table=False)
    assert capsys.readouterr().out == ""
    _sum_up(TASKS, as_table=False)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "suite\ttasks\tpassed\tfailed\tnoisy\tskipped\twithout cases\tnot measured\tbroken",
        "s\t6\t2\t1\t1\t1\t1\t2\t1", "t\t1\t1\t0\t0\t0\t0\t0\t0",
    ]  # fmt: skip
    _sum_up(TASKS, as_table=True)
    told = capsys.readouterr().out
    assert [line for line in told.splitlines() if line.startswith("## ")] == ["## s", "## t"]
    _sum_up(TASKS[6:], as_table=True)
    assert not capsys.readouterr().out.startswith("#")


@pytest.mark.parametrize(
    ("done", "lines"),
    [
        (TASKS[6:], ["1 case: 1 passed."]),
        (TASKS, ["1 of 7 tasks have none: `s:c`", "9 cases: 3 passed, 2 failed, 1 noisy, 3 skipped."]),
        ([TASKS[6], *[TASKS[2]] * 3], ["3 of 4 tasks have none: `s:c`, `s:c`, `s:c`", "1 case: 1 passed."]),
        ([TASKS[6], *[TASKS[2]] * 4], ["4 of 5 tasks have none: `s:c`, `s:c`, `s:c` …", "1 case: 1 passed."]),
    ],
)
def test_how_many_cases_came_out_how_is_said_last(
    done: Any, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    counts = Counter(row["result"] for task in done for row in _rows(task))
    _conclude(done, counts)
    assert capsys.readouterr().err.splitlines() == lines


def test_where_there_is_no_case_nothing_can_be_calibrated() -> None:
    for done, named in (([TASKS[2]], "`s:c`"), ([], "no task is offered")):
        with pytest.raises(NothingSelectedError) as caught:
            _conclude(done, Counter())
        assert (str(caught.value), caught.value.hint) == (
            f"There is no calibration to make: {named}.", "trace-bench calibrate internal",
        )  # fmt: skip


def test_a_kind_that_is_none_is_refused_with_those_that_are() -> None:
    assert _kinds(["gold", "ratio"]) == ["gold", "ratio"]
    with pytest.raises(UsageError) as caught:
        _kinds(["gold", "golden"])
    assert str(caught.value) == "There is no kind of calibration `golden`. Did you mean `gold`?"
    assert (caught.value.hint or "").startswith("--kind gold|known|")
