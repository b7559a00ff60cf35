"""What a person allows an agent: models and prices, trainers and tasks, and how the USD that were set aside are counted."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tracebench_core.errors import UsageError
from tracebench_open.operator.allowance import LEAST, Allowance
from tracebench_open.operator.command import _models
from tracebench_open.operator.study import ALLOWED, Caps, Study, Task, config_of

GOLDEN = Path(__file__).parents[3] / "tests/cli/golden/1fa27cb.zip"
RUN = "20261123-044557-f26f06f3"
"""The run that it holds."""


def study(**more: Any) -> Study:
    return Study.model_validate({"tasks": [{"id": "a:b"}], "trainers": ["NoOp"], "seeds": [1], "budget": {}} | more)


def config(asked: Study, **more: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "models": {"m": {"model": "m"}, "n": {"model": "n", "prices": {}}}, "trainers": ["NoOp"], "run_id": "r",
        "usd": 0.5, "runs_dir": "d",
    }  # fmt: skip
    return config_of(asked, **(told | more))


def test_a_study_becomes_a_config_under_the_persons_cap() -> None:
    caps = {"llm_calls": 3, "usd": 0.0, "seconds": 1.5}
    found = config(study(budget=caps, tasks=[{"id": "a:b", "eval_kwargs": {"n": 1}}], seeds=[2, 3]))
    assert found["run_budget"] == {"usd": 0.5, "strict": True}
    assert found["budget"] == caps, "what was not asked for is left out, and nothing is something"
    assert found["llm"] == {"model": "m"}, "the first model, where none is named"
    assert found["tasks"] == [{"id": "a:b", "eval_kwargs": {"n": 1}}]
    assert (found["mode"], found["seeds"], found["trainers"]) == ("real", [2, 3], ["NoOp"])
    assert (found["run_id"], found["runs_dir"]) == ("r", "d")
    assert config(study(model="n"))["llm"] == {"model": "n", "prices": {}}


def test_what_was_not_allowed_is_refused_with_what_is_near() -> None:
    with pytest.raises(UsageError, match=r"^Trainer `NoOps` was not allowed\. Did you mean `NoOp`\?"):
        config(study(trainers=["NoOp", "NoOps"]))
    with pytest.raises(UsageError, match=r"^Model `mm` was not allowed\."):
        config(study(model="mm"))
    assert {"NoOp", "BestOfN", "GEPA-Base", "TextGrad"} <= {*ALLOWED}


@pytest.mark.parametrize("name", ["a:b.py", "a:../b", ".a:b", "a:b/../c", "b", "a:", "a:b c", "/a:b", f"a:{'b' * 199}"])
def test_a_task_is_of_a_suite_and_no_file(name: str) -> None:
    with pytest.raises(ValidationError):
        Task(id=name)
    assert Task(id=f"a:{'b' * 198}").eval_kwargs == {}
    assert Task(id="a.b-c:d/e_f").id == "a.b-c:d/e_f"


@pytest.mark.parametrize(
    "change",
    [
        {"tasks": []}, {"tasks": [{"id": "a:b"}] * 51}, {"trainers": []}, {"trainers": ["NoOp"] * 41}, {"seeds": []},
        {"seeds": [1] * 101}, {"budget": {"usd": float("inf")}}, {"budget": {"usd": -1}}, {"budget": {"seconds": 0}},
        {"budget": {"seconds": float("inf")}}, {"budget": {"evaluations": -1}}, {"budget": {"llm_calls": -1}},
        {"budget": {"tokens": -1}}, {"budget": {"calls": 1}}, {"prices": {}},
    ],
)  # fmt: skip
def test_what_nobody_may_ask_for_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        study(**change)


def test_as_much_as_may_be_asked_for_is_taken() -> None:
    asked = study(tasks=[{"id": "a:b"}] * 50, trainers=["NoOp"] * 40, seeds=[1] * 100)
    assert (len(asked.tasks), len(asked.trainers), len(asked.seeds)) == (50, 40, 100)
    nothing = Caps(evaluations=0, llm_calls=0, tokens=0, usd=0.0, seconds=0.1)
    assert nothing.model_dump() == {"evaluations": 0, "llm_calls": 0, "tokens": 0, "usd": 0.0, "seconds": 0.1}


def test_models_are_asked_as_the_person_says_and_at_these_prices() -> None:
    assert _models(["a", "b=c"], ["b=c=1,2.5", "a=0,0"], "http://x", "KEY") == {
        "a": {"model": "a", "base_url": "http://x", "api_key_env": "KEY", "prices": {"a": {"prompt": 0, "completion": 0}}},
        "b=c": {
            "model": "b=c", "base_url": "http://x", "api_key_env": "KEY",
            "prices": {"b=c": {"prompt": 1, "completion": 2.5}},
        },
    }  # fmt: skip
    assert _models(["a"], [], None, None) == {"a": {"model": "a"}}


@pytest.mark.parametrize("text", ["b=1,2", "a=1", "a=1,2,3", "a=-1,2", "a=1,inf", "a=nan,1", "a=x,y", "a", "a="])
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as error:
        _models(["a"], [text], None, None)
    assert str(error.value) == f"`{text}` is no price of a model that is given."
    assert error.value.hint == "--price NAME=PROMPT,COMPLETION"


def ended(folder: Path, ledger: list[Any] | None, *, name: str = RUN) -> None:
    """Write what is left of a run that has ended: a real one, with another ledger."""
    with zipfile.ZipFile(GOLDEN) as archive:
        archive.extractall(folder / "of", [one for one in archive.namelist() if one.startswith("whole/")])
    (folder / "of/whole").rename(folder / name)
    kept = folder / name / "llm/ledger.jsonl"
    kept.unlink()
    if ledger is not None:
        lines = [line if isinstance(line, str) else json.dumps(line) for line in ledger]
        kept.write_text("".join(f"{line}\n" for line in lines))


def call(usd: Any) -> dict[str, Any]:
    return {"kind": "llm_call", "usd": usd}


@pytest.mark.parametrize(
    ("ledger", "counted"),
    [
        ([call(0.25), call(1), {"kind": "note", "usd": 9}], 1.25),
        ([], 0.0),
        ([call(-1)], 0.0),
        ([call(0.25), call(None)], 2.0),
        ([call("free")], 2.0),
        (["torn {", call(0.25)], 2.0),
        (None, 2.0),
    ],
)
def test_a_run_counts_as_its_ledger_tells_or_with_its_whole_share(
    tmp_path: Path, ledger: list[Any] | None, counted: float
) -> None:
    allowance = Allowance(tmp_path, 5.0)
    assert allowance.draw(RUN, 2.0) == 2.0
    assert allowance.left() == 3.0
    ended(tmp_path, ledger)
    assert allowance.told() == {
        "allowed_usd": 5.0, "left_usd": 5.0 - counted, "runs": {RUN: {"share": 2.0, "counted": counted}},
    }  # fmt: skip


def test_a_folder_of_another_run_or_of_one_under_way_gives_nothing_back(tmp_path: Path) -> None:
    allowance = Allowance(tmp_path, 5.0)
    allowance.draw(RUN, 2.0)
    allowance.draw("other", 1.0)
    ended(tmp_path, [call(0.5)], name="other")
    assert allowance.left() == 2.0
    ended(tmp_path, [call(0.5)])
    assert allowance.left() == 3.5
    (tmp_path / RUN / "summary.json").unlink()
    assert allowance.left() == 2.0


def test_so_little_that_nothing_can_be_asked_is_nothing(tmp_path: Path) -> None:
    allowance = Allowance(tmp_path, 1.0)
    assert allowance.draw(RUN, 1.0 - LEAST) == 1.0 - LEAST
    ended(tmp_path, [call(1.0 - LEAST / 2)])
    with pytest.raises(UsageError, match=r"^Of the 1 USD that were allowed, 0\.000050 are left\.$"):
        allowance.draw("b", 1.0)
    with pytest.raises(UsageError, match="are left"):
        allowance.draw("b", float("nan"))
    (tmp_path / RUN / "llm/ledger.jsonl").write_text(json.dumps(call(3.0)) + "\n")
    assert allowance.left() == 0.0, "what was overspent is not owed"
    with pytest.raises(UsageError, match=rf"^Run `{RUN}` has its share already\.$"):
        allowance.draw(RUN, 1.0)


def test_an_allowance_is_read_again_as_it_was_written_and_is_nobody_elses(tmp_path: Path) -> None:
    Allowance(tmp_path / "new/folder", 2.5).draw("a", 1)
    kept = tmp_path / "new/folder/allowance.json"
    assert json.loads(kept.read_text()) == {"usd": 2.5, "shares": {"a": 1}}
    assert kept.stat().st_mode & 0o777 == 0o600
    again = Allowance(tmp_path / "new/folder", 2.5)
    assert again.left() == 1.5
    with pytest.raises(UsageError) as error:
        Allowance(tmp_path / "new/folder", 3)
    assert f"`{kept}` allows 2.5 USD" in str(error.value)
    assert "not changed to 3 by a second start" in str(error.value)
    assert error.value.hint == "another --runs-dir, or a person removes the file"
    for text in ("[]", '{"usd": 1}', '{"usd": "x", "shares": {}}', '{"usd": 1, "shares": []}', "{"):
        kept.write_text(text)
        with pytest.raises(UsageError, match="nothing is allowed until a person has looked at it"):
            again.left()


def test_a_link_is_no_allowance(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "elsewhere").write_text("")
    (tmp_path / "runs/allowance.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        Allowance(tmp_path / "runs", 1.0)
