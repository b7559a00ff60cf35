"""What README and the tutorial say of the comparison that they begin with is what it says."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
import yaml
from tests.whole import HEAVY

from tracebench_engine import api
from tracebench_engine.api.verdicts import verdict_at_end
from tracebench_engine.config import load_config

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
NUMBER = r"([\d.]+)"
FIRST = re.findall(r"configs/\w+\.yaml", README)[0]


def test_the_config_that_readme_spells_out_is_that_of_its_first_command() -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    spelt, written = (yaml.safe_load(text) for text in (shown, (ROOT / FIRST).read_text()))

    assert spelt == {field: value for field, value in written.items() if field != "tags"}


@HEAVY
@pytest.mark.timeout(300)
def test_the_first_comparison_ends_with_the_verdict_that_readme_and_tutorial_quote(
    tmp_path: Path, runtime_dir: Path
) -> None:
    summary = api.run(load_config(ROOT / FIRST, overrides=[f"runs_dir={tmp_path}"]), stream=io.StringIO())
    told = verdict_at_end(Path(summary.run_dir))

    ended = re.fullmatch(rf"(.* by ){NUMBER} \[{NUMBER}, {NUMBER}\](, on .*)", told.sentence)
    assert ended is not None, told.sentence
    assert not told.next_step  # everything is resolved
    for page in (README, (ROOT / "docs/tutorial/first-run.md").read_text()):
        quoted = re.search(rf"{re.escape(ended[1])}{NUMBER} \[{NUMBER}, {NUMBER}\]{re.escape(ended[5])}", page)
        assert quoted is not None
        assert float(ended[3]) < float(quoted[1]) < float(ended[4])
    searches = [r for r in api.load_run(summary.run_dir).results.values() if r.trainer_id != "NoOp"]
    assert len(searches) == 20
    assert {r.used.evaluations for r in searches} == {500}
