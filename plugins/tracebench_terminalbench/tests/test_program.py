"""Agents that are programs: what of them is optimised, what may not be changed, and how one is started. No Harbor is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tracebench_core.contracts import EvaluationFailed
from tracebench_core.errors import UsageError
from tracebench_terminalbench import rules
from tracebench_terminalbench.catalog import TOYS, Case
from tracebench_terminalbench.job_config import Model, job_config
from tracebench_terminalbench.loading import build
from tracebench_terminalbench.options import Options
from tracebench_terminalbench.program import OWN, forget
from tracebench_terminalbench.subject import parameter, write_subject

MODEL = Model("http://127.0.0.1:4711/v1", "m")
TOY = Case("hello-file", TOYS / "hello-file")


def options(**settings: Any) -> Options:
    return Options.model_validate({"agent": "folder", "optimize": "files", **settings})


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    home = tmp_path / "mine"
    for name in ("main.py", "tools/count", "skills/sort/SKILL.md", ".git/config"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"text of {name}")
    return home


def test_the_files_that_patterns_fit_are_one_parameter_and_the_others_stay(agent: Path, tmp_path: Path) -> None:
    every = parameter(options(agent_folder=str(agent)))
    assert (every.name, every.kind) == ("agent", "files")
    assert sorted(every.initial) == ["main.py", "skills/sort/SKILL.md", "tools/count"]
    skills = options(agent_folder=str(agent), agent_files=["skills"])
    assert parameter(skills).initial == {"skills/sort/SKILL.md": "text of skills/sort/SKILL.md"}

    made = write_subject(
        skills, {"skills/sort/SKILL.md": "new", "skills/cut/SKILL.md": "more"}, frame="", folder=tmp_path
    )
    home = Path(made["folder"])
    found = {path.relative_to(home).as_posix(): path.read_text() for path in home.rglob("*") if path.is_file()}
    assert found == {
        "main.py": "text of main.py", "tools/count": "text of tools/count",
        "skills/sort/SKILL.md": "new", "skills/cut/SKILL.md": "more",
    }  # fmt: skip


def test_a_file_that_is_not_optimised_may_not_be_changed(agent: Path, tmp_path: Path) -> None:
    skills = options(agent_folder=str(agent), agent_files=["skills"])
    with pytest.raises(EvaluationFailed) as refused:
        write_subject(skills, {"main.py": "print(1)"}, frame="", folder=tmp_path)
    assert refused.value.feedback.status == "invalid"
    assert "`main.py` is no file that may be changed: skills" in refused.value.feedback.text


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"agent_folder": "/nowhere"}, "there is no such folder"),
        ({"agent_files": ["*.rs"]}, "fits none of the agent's files: main.py, prompt.md"),
    ],
)
def test_what_cannot_be_an_agent_is_told_with_a_command(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as told:
        parameter(options(**settings))
    assert told.value.hint


def test_a_file_that_is_no_text_is_named(agent: Path) -> None:
    (agent / "blob").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="blob` is no text"):
        parameter(options(agent_folder=str(agent)))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"agent": "folder", "optimize": "advice"}, "write `optimize: files`"),
        ({"agent": "codex"}, "write `optimize: extra_instructions`"),
        ({"agent": "terminus-2", "optimize": "files"}, "is of `agent: folder`"),
    ],
)
def test_what_is_optimised_fits_the_agent(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Options.model_validate(settings)


@pytest.mark.parametrize("agent", ["folder", "preset:codex", "codex"])
def test_an_agent_that_asks_from_inside_needs_sandboxes_that_lead_to_the_gateway(agent: str) -> None:
    asked = {"agent": agent, "optimize": "files" if agent == "folder" else "extra_instructions"}
    with pytest.raises(UsageError, match="does not lead from there to the gateway") as told:
        build("regex-log", **asked)
    assert told.value.hint == "harbor_env: oci"
    assert build("toys", **asked).parameters


def test_a_harbor_agent_of_any_name_and_a_class_are_taken_and_get_a_door(tmp_path: Path) -> None:
    def made(agent: str) -> dict[str, Any]:
        asked = Options.model_validate({"agent": agent, "optimize": "skill", "agent_kwargs": {"version": "1"}})
        subject = write_subject(asked, "look", frame="", folder=tmp_path)
        return job_config(asked, [TOY], name="j", folder=tmp_path, subject=subject, model=MODEL)

    named, own = made("aider"), made("my_agents.mine:Agent")
    (entry,), (other,) = named["agents"], own["agents"]
    assert (entry["name"], entry["model_name"]) == ("aider", "openai/m")
    assert entry["kwargs"] == {"version": "1"}, "Harbor's own agents refuse settings that they do not know"
    assert len(entry["skills"]) == 1
    assert named["environment"]["kwargs"] == {"door": "127.0.0.1:4711"}
    assert other["import_path"] == "my_agents.mine:Agent"


def test_a_preset_is_started_as_its_plugin_says_and_no_key_is_in_the_configuration(tmp_path: Path) -> None:
    asked = Options.model_validate({"agent": "preset:codex", "optimize": "extra_instructions"})
    made = job_config(asked, [TOY], name="j", folder=tmp_path, subject={}, model=MODEL)
    (entry,) = made["agents"]
    assert entry["kwargs"]["argv"][:2] == ["codex", "exec"]
    assert "{task}" in entry["kwargs"]["argv"]
    assert entry["kwargs"]["environ"]["GATEWAY_KEY"] == "{key}"
    assert 'base_url = "{base_url}"' in entry["kwargs"]["files"][".codex/config.toml"]
    unknown = Options.model_validate({"agent": "preset:codec", "optimize": "extra_instructions"})
    with pytest.raises(UsageError, match="codex"):
        job_config(unknown, [TOY], name="j", folder=tmp_path, subject={}, model=MODEL)


def test_a_key_that_an_agent_wrote_is_not_kept(tmp_path: Path) -> None:
    log = tmp_path / "job/trial__1/agent/deep/log.txt"
    log.parent.mkdir(parents=True)
    log.write_text("with s3cret in it")
    forget(tmp_path / "job", "s3cret")
    assert log.read_text() == "with <key> in it"


def test_the_repairs_of_the_stand_in_are_of_the_code_that_is_shipped() -> None:
    code = (OWN / "main.py").read_text()
    assert [code.count(before) for before, _ in rules.REPAIRS.values()] == [1, 1]
