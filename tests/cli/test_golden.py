"""What was made at earlier commits goes on working: runs, and plugins as their authors wrote them.

Each archive of `golden` holds the runs `whole` and `cut`: the same, killed -9 in the middle. `golden/plugins` holds a suite and a trainer.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli
from tests.whole import one_in

from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.comparison.document import METHOD, comparison_data
from tracebench_runs.reading.reader import load_run

PLUGINS = Path(__file__).with_name("golden") / "plugins"
GOLDEN = sorted(Path(__file__).with_name("golden").glob("*.zip"))
SCORES = {  # of the command that wrote them: seeds 1 and 2
    ("internal:multi_param", "SequentialRefine"): (-0.08481, -0.41993),
    ("internal:multi_param", "RandomSearch"): (-0.11447, -0.01021),
    ("internal:multi_param", "NoOp"): (-1, -1),
    ("internal:code_param", "SequentialRefine"): (0.6, 0.6),
    ("internal:code_param", "RandomSearch"): (0.6, 0.6),
    ("internal:code_param", "NoOp"): (0.1875, 0.1875),
}


@pytest.fixture(params=one_in(2, GOLDEN), ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(tmp_path)
    return tmp_path


def rows(cli: Cli, run: str) -> dict[tuple[str, str, int], dict[str, Any]]:
    shown = cli("show", run, "--json")
    assert shown.returncode == 0, shown.stderr
    return {(row["task_id"], row["trainer_id"], row["seed"]): row for row in json.loads(shown.stdout)["jobs"]}


def expect_all(found: dict[tuple[str, str, int], dict[str, Any]]) -> None:
    assert {row["status"] for row in found.values()} == {"ok"}
    for (task, trainer), scores in SCORES.items():
        assert [found[task, trainer, seed]["score_val_best"] for seed in (1, 2)] == pytest.approx(scores, abs=1e-5)
    assert len(found) == 2 * len(SCORES)


def test_a_whole_run_is_read_checked_and_not_run_again(golden: Path, cli: Cli) -> None:
    expect_all(rows(cli, "whole"))
    assert cli("fsck", "whole").returncode == 0
    results = {path: path.read_bytes() for path in (golden / "whole/jobs").glob("*/results.json")}
    assert cli("resume", "whole").returncode == 0
    assert {path: path.read_bytes() for path in results} == results


def test_a_cut_run_is_resumed_to_what_the_whole_one_is(golden: Path, cli: Cli) -> None:
    finished = {path: path.read_bytes() for path in (golden / "cut/jobs").glob("*/results.json")}
    resumed = cli("resume", "cut")
    assert resumed.returncode == 0, resumed.stderr
    expect_all(rows(cli, "cut"))
    assert {path: path.read_bytes() for path in finished} == finished
    assert cli("fsck", "cut").returncode == 0


def test_a_whole_run_is_compared_and_replayed(golden: Path, cli: Cli) -> None:
    compared = cli("compare", "whole", "--json")
    assert compared.returncode == 0, compared.stderr
    assert {entry["entrant"] for entry in json.loads(compared.stdout)["leaderboard"]} == {
        "SequentialRefine",
        "RandomSearch",
        "NoOp",
    }
    replayed = cli("replay", "whole", "--runs-dir", "again")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


def test_plugins_of_an_earlier_commit_run_as_they_are(cli: Cli, tmp_path: Path) -> None:
    for name, more in (("keptsuite", ""), ("kepttrainer", "\n[tracebench.index]\nKepttrainer = kepttrainer\n")):
        info = tmp_path / f"site/tracebench_{name}-0.1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tracebench-{name}\nVersion: 0.1.0\n")
        (info / "entry_points.txt").write_text(f"[tracebench]\n{name} = tracebench_{name}.plugin\n{more}")
        shutil.copytree(PLUGINS / f"tracebench_{name}", tmp_path / f"site/tracebench_{name}")
    (tmp_path / "c.yaml").write_text(
        "mode: stub\nseeds: [1]\nbudget: {evaluations: 8}\ntasks: ['keptsuite:sorting']\ntrainers: [NoOp, Kepttrainer]\n"
    )
    done = cli("run", "--config", "c.yaml", "--json", env={"PYTHONPATH": str(tmp_path / "site")})
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["counts"] == {"ok": 2}


def test_a_report_of_an_earlier_way_of_comparing_is_not_called_false_and_a_false_score_in_it_is(
    cli: Cli, tmp_path: Path
) -> None:
    with zipfile.ZipFile(PLUGINS.parent / "1fa27cb.zip") as archive:
        archive.extractall(tmp_path)
    text = (PLUGINS.parent / "report-1fa27cb.html").read_text()
    (tmp_path / "before.html").write_text(text)
    head, data, tail = re.split(r'(?<=id="comparison">)(.*)(?=</script>)', text, maxsplit=1)
    changed = json.loads(data)
    changed["comparison"]["tasks"][0]["standings"][0]["mean"]["estimate"] += 0.1
    (tmp_path / "false.html").write_text(head + json.dumps(changed) + tail)
    (tmp_path / "none.html").write_text(text.replace('"standings"', '"standing"'))

    told = cli("verify", "before.html", "whole")
    assert told.returncode == 1
    assert (
        "was made by an earlier version, which compared in another way. Its scores are those of the runs;"
        in told.stderr
    )
    assert "Since then a comparison has gained `judged`, `margin`." in told.stderr
    assert "does not agree" not in told.stderr
    assert "trace-bench report whole -o report.html" in told.stderr
    data = json.loads(cli("verify", "before.html", "whole", "--json").stdout)
    assert (data["agrees"], data["differing"], data["method"]) == (False, [], 1)

    assert "does not agree with the runs in: the scores of" in cli("verify", "false.html", "whole").stderr
    assert "does not agree with the runs in: everything" in cli("verify", "none.html", "whole").stderr


def test_equal_runs_come_to_the_data_of_this_way_of_comparing(tmp_path: Path) -> None:
    """What fails here makes every earlier report fail `verify`: raise `METHOD`, and keep the new data."""
    with zipfile.ZipFile(PLUGINS.parent / "1fa27cb.zip") as archive:
        archive.extractall(tmp_path)
    found = json.loads(json.dumps(comparison_data(compare_runs([load_run(tmp_path / "whole")]))))
    kept = json.loads((PLUGINS.parent / f"comparison-{METHOD}.json").read_text())

    assert rounded(found) == rounded(kept)


def rounded(data: Any) -> Any:
    """Return data with figures to six digits, which no machine changes."""
    if isinstance(data, dict):
        return {name: rounded(value) for name, value in data.items()}
    if isinstance(data, list):
        return [rounded(value) for value in data]
    return f"{data:.6g}" if isinstance(data, float) else data
