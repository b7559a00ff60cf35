"""`verify REPORT RUN`: a report agrees with its runs, or it is told in what it does not, and what cannot be told."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from tests.unit.analysis.runs import make_run
from typer.testing import CliRunner

from tracebench_core.errors import MissingRequirementError, TraceBenchError, UsageError
from tracebench_engine.api.judging.reports import DATA, METHOD, render_main, report_data
from tracebench_engine.api.rundirs.twins import Again, Beside
from tracebench_engine.cli.app import app
from tracebench_engine.cli.results.report import compared, load_runs
from tracebench_engine.cli.results.verify import COLUMNS, _row

Cli = Callable[[str], Result]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs, and a report of the first."""
    folder = tmp_path_factory.mktemp("reports")
    for name, gap in (("one", 1.0), ("other", 0.25)):
        make_run(
            folder / name,
            lambda trainer, _, seed, gap=gap: (gap if trainer == "A" else 0.0) + seed / 10,
            seeds=range(3),
        )
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        done = CliRunner().invoke(app, ["report", "one", "-o", "r.html"])
        if isinstance(done.exception, MissingRequirementError):  # what draws charts is not installed
            (folder / "r.html").write_text(without_charts())
    return folder


def without_charts() -> str:
    """Return a report's data and tables as its page holds them."""
    options = {"baseline": None, "axis": "evaluations", "at": None, "policy": "initial", "margin": None}
    runs = load_runs(["one"], None)
    comparison = compared(runs, options)
    data = json.dumps(report_data(comparison, options=options)).replace("</", "<\\/")
    return f'{render_main(runs, comparison)}<script type="application/json" id="comparison">{data}</script>'


@pytest.fixture
def cli(made: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(made)
    return lambda line: CliRunner().invoke(app, line.split())


def changed(made: Path, change: Callable[[str], str], name: str = "changed.html") -> str:
    text = (made / "r.html").read_text()
    new = change(text)
    assert new != text
    (made / name).write_text(new)
    return name


def with_data(**fields: object) -> Callable[[str], str]:
    """Return what changes a report's own data; a field of None is taken out."""

    def change(text: str) -> str:
        found = DATA.search(text)
        assert found is not None
        told = {k: v for k, v in (json.loads(found[1]) | fields).items() if v is not None}
        return text.replace(found[1], json.dumps(told).replace("</", "<\\/"))

    return change


def test_a_report_agrees_with_its_runs(cli: Cli) -> None:
    done = cli("verify r.html one")
    assert done.exit_code == 0
    assert re.match(r"r\.html: its tables( and charts)? agree with one\.\n", done.stdout)
    told = json.loads(cli("verify r.html one --json").stdout)
    assert (told["kind"], told["agrees"], told["differing"]) == ("verification", True, [])
    assert bool(told["charts_not_checked"]) == ("Charts not checked: " in done.stdout)


def test_a_report_does_not_agree_with_another_run_or_other_tables(cli: Cli, made: Path) -> None:
    other = cli("verify r.html other")
    assert isinstance(other.exception, TraceBenchError)
    assert str(other.exception).startswith("`r.html` does not agree with the runs in: ")
    assert "the tables as shown" in str(other.exception)

    forged = changed(made, lambda text: text.replace("<td>", "<td>9", 1))
    done = cli(f"verify {forged} one")
    assert str(done.exception) == "`changed.html` does not agree with the runs in: the tables as shown."
    told = json.loads(cli(f"verify {forged} one --json").stdout)
    assert (told["agrees"], told["differing"]) == (False, ["the tables as shown"])


@pytest.mark.parametrize(("method", "which"), [(METHOD + 1, "a later"), (0, "an earlier"), ("x", "an earlier")])
def test_of_a_report_by_another_method_only_the_scores_are_told(
    cli: Cli, made: Path, method: object, which: str
) -> None:
    name = changed(made, with_data(method=method))
    done = cli(f"verify {name} one")
    assert str(done.exception) == (
        f"`changed.html` was made by {which} version, which compared in another way. Its scores are those of the runs; its verdict, "
        "intervals and tables as shown cannot be made again by this version."
    )
    assert getattr(done.exception, "hint", "") == "a report of today's: trace-bench report one -o report.html"
    told = json.loads(cli(f"verify {name} one --json").stdout)
    assert (told["agrees"], told["differing"], told["charts_not_checked"]) == (False, [], ["all"])
    assert (told["method"], told["fields_gained"]) == (method, [])
    other = cli(f"verify {name} other")
    assert str(other.exception).startswith("`changed.html` does not agree with the runs in: ")


def test_what_a_comparison_has_gained_since_is_named(cli: Cli, made: Path) -> None:
    found = DATA.search((made / "r.html").read_text())
    assert found is not None
    comparison = json.loads(found[1])["comparison"]
    lacking = {k: v for k, v in comparison.items() if k != "remarks"}
    assert len(lacking) == len(comparison) - 1
    done = cli(f"verify {changed(made, with_data(method=0, comparison=lacking))} one")
    assert str(done.exception).endswith(" Since then a comparison has gained `remarks`.")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<html>", "`no.html` is no report: it holds no comparison."),
        (b"\xff", "`no.html` cannot be read as a report: "),
        (None, "`no.html` cannot be read as a report: "),
    ],
)
def test_what_is_no_report_is_refused(cli: Cli, made: Path, content: bytes | None, words: str) -> None:
    (made / "no.html").unlink(missing_ok=True)
    if content is not None:
        (made / "no.html").write_bytes(content)
    done = cli("verify no.html one")
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith(words)
    assert done.exception.hint == "trace-bench report RUN -o report.html"


@pytest.mark.parametrize("options", [3, {}, {"baseline": None}])
def test_a_report_whose_own_data_are_odd_is_refused(cli: Cli, made: Path, options: object) -> None:
    done = cli(f"verify {changed(made, with_data(options=options))} one")
    assert str(done.exception).startswith("`changed.html` cannot be read as a report: ")


def test_a_report_alone_is_to_be_named_with_its_runs(cli: Cli) -> None:
    done = cli("verify r.html")
    assert (str(done.exception), getattr(done.exception, "hint", "")) == (
        "A report is verified with its runs.", "trace-bench verify r.html RUN",
    )  # fmt: skip


GOLDEN = Path(__file__).parents[2] / "cli/golden/1fa27cb.zip"


def test_a_run_of_a_version_without_chains_is_told_apart_from_one_that_is_whole(cli: Cli, tmp_path: Path) -> None:
    with zipfile.ZipFile(GOLDEN) as archive:
        archive.extractall(tmp_path)
    done = cli(f"verify {tmp_path / 'whole'}")
    assert (done.exit_code, done.stdout.partition(": ")[0]) == (3, "not chained")
    told = json.loads(cli(f"verify {tmp_path / 'whole'} --json").stdout)
    assert (told["kind"], told["verdict"], told["head"]) == ("run-verification", "not chained", None)


@pytest.mark.parametrize("head", ["0" * 15, "0" * 65, "g" * 64, "z" * 90])
def test_what_is_no_head_is_shown_as_far_as_it_is_of_use(cli: Cli, head: str) -> None:
    done = cli(f"verify one --head {head}")
    assert str(done.exception).startswith(f"`{head[:80]}` is no head: ")


def test_a_twin_is_a_row_with_what_both_take(capsys: pytest.CaptureFixture[str]) -> None:
    beside = Beside(
        "j", "s:t", "A", 3, "lib", "1.2", "same", "", candidates=4, measured=(5, 6), prompts=(7, 8), twin_seconds=0.25,
        twin_cpu_seconds=None, job_seconds=9.0, job_waited=1.0, job_measuring=2.0,
    )  # fmt: skip
    row = ["A", "s:t", "3", "lib 1.2", "4", "same", "5 of 6", "7 of 8", "0.5", "0.25", "1.5", "-"]
    assert [*_row(beside, Again(0.5, 1.5))] == row
    assert [*_row(beside, None)] == [*row[:8], "", "0.25", "", "-"]
    assert len(COLUMNS) == len(row)


OF_A_RUN = ("summary.json", "results.csv", "meta/new.json", "jobs/x/new.md", "journal.csv")


@pytest.mark.parametrize("name", OF_A_RUN)
def test_no_report_is_written_over_what_a_run_keeps(made: Path, cli: Cli, name: str) -> None:
    before = {path: path.read_bytes() for path in (made / "one").rglob("*") if path.is_file()}
    done = cli(f"report other -o one/{name}")
    if name == "journal.csv":  # of no run
        assert done.exit_code == 0
        (made / "one" / name).unlink()
    else:
        assert isinstance(done.exception, UsageError)
        assert "only the run itself writes there" in str(done.exception)
        assert done.exception.hint == f"--output {Path(name).name}"
    assert {path: path.read_bytes() for path in (made / "one").rglob("*") if path.is_file()} == before
