"""`verify --twin`: a library's own program beside the trainer that is built on it, on recorded replies."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from tests.cli.conftest import Cli, brought_from, command_in, installed_in
from tests.whole import HEAVY, one_in

PLUGIN = '''
import sys
from pathlib import Path

from pydantic import BaseModel

from tracebench_core.contracts import Twin
from tracebench_core.errors import MissingRequirementError
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import TrainerSpec

BESIDE = Path(__file__).with_name("beside.py")


class Settings(BaseModel):
    """How many answers are tried."""

    tries: int = 3


class Walker:
    """Asks for a number to try, again and again."""

    def __init__(self, settings):
        self._tries = settings.tries

    def train(self, problem):
        (name,) = problem.initial
        problem.evaluate(problem.initial)
        for place in range(self._tries):
            said = problem.complete([{"role": "user", "content": f"Number {place}?"}])[0].text
            problem.evaluate({name: float(len(said) + place)})


def beside(settings, parameters):
    return Twin(BESIDE, sys.executable, "pydantic", settings=settings.model_dump())


def missing(settings, parameters):
    raise MissingRequirementError("`walking` is not installed.", hint="pip install walking")


@hookimpl
def tracebench_trainers():
    named = {"Walker": "walkers:beside", "Lone": None, "Unequipped": "walkers:missing"}
    return [TrainerSpec(name=n, loader="walkers:Walker", settings="walkers:Settings", twin=t) for n, t in named.items()]
'''
LIBRARY = """
import recorded

(name,) = recorded.initial
recorded.measure(recorded.initial, recorded.train)
for place in range(recorded.settings.tries):
    said = recorded.ask(f"Number {place}?")[0]
    recorded.measure({name: float(len(said) + place)}, recorded.train)
"""
IN_A_PROCESS = """
import subprocess, sys
import tracebench_core
import recorded

recorded.measure(recorded.initial, recorded.train[:1])
subprocess.run([sys.executable, "-c", LIBRARY.replace("recorded.measure(recorded.initial, recorded.train)", "")], check=True)
"""
BACKWARDS = LIBRARY.replace("range(recorded.settings.tries)", "reversed(range(recorded.settings.tries))")


def made(cli: Cli, folder: Path, *, trainer: str = "Walker", record: bool = True, **budget: int) -> Mapping[str, str]:
    """Run a trainer in `runs/one`; return the variables that bring it in."""
    brought = installed_in(folder, "walkers", PLUGIN, group="tracebench", entry="walkers", target="walkers")
    (folder / "site/beside.py").write_text(LIBRARY)
    config = {
        "run_id": "one",
        "tasks": ["internal:numeric_param"],
        "trainers": [trainer],
        "budget": budget,
        "llm": {"record": record},
    }
    (folder / "c.json").write_text(json.dumps(config))
    done = cli("run", "--config", "c.json", env=brought)
    assert done.returncode == 0, done.stderr
    return brought


def said_of(cli: Cli, brought: Mapping[str, str], *, code: int) -> Mapping[str, object]:
    """Return what the command says of the run's one job."""
    done = cli("verify", "--twin", "one", "--no-overhead", "--json", env=brought)
    assert done.returncode == code, done.stdout + done.stderr
    (found,) = json.loads(done.stdout)["jobs"]
    return MappingProxyType(found)


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that `Walker` made, once for all tests. Leave it as it is."""
    folder = tmp_path_factory.mktemp("walked")
    made(command_in(folder), folder)
    return folder


@pytest.fixture
def brought(walked: Path, tmp_path: Path) -> Mapping[str, str]:
    """The variables that bring in a copy of that folder."""
    return brought_from(Path(shutil.copytree(walked, tmp_path, dirs_exist_ok=True)))


@pytest.fixture
def program(brought: Mapping[str, str], tmp_path: Path) -> Path:
    """The twin's file."""
    return tmp_path / "site/beside.py"


def test_a_twin_that_does_what_the_trainer_did_is_the_same(cli: Cli, brought: Mapping[str, str]) -> None:
    found = said_of(cli, brought, code=0)
    assert (found["verdict"], found["candidates"], found["measured"], found["prompts"]) == ("same", 3, [4, 4], [3, 3])


def test_what_both_take_stands_beside_the_verdict(cli: Cli, brought: Mapping[str, str], tmp_path: Path) -> None:
    done = cli("verify", "--twin", "one", env=brought)
    assert done.returncode == 0, done.stderr
    titles, row = (line.split("\t") for line in done.stdout.splitlines())
    found = dict(zip(titles, row, strict=True))
    assert found["verdict"] == "same"
    taken = [float(found[name]) for name in ("seconds", "twin's", "processor s", "twin's own")]
    assert all(amount > 0 for amount in taken)
    assert [path.name for path in (tmp_path / "runs").iterdir() if path.is_dir()] == ["one"]


def test_another_order_differs_and_the_place_is_named(cli: Cli, brought: Mapping[str, str], program: Path) -> None:
    program.write_text(BACKWARDS)
    found = said_of(cli, brought, code=1)
    assert (found["verdict"], found["words"]) == ("differs", "in the place of `c1` came `c3`")


def test_the_same_candidates_from_other_prompts_prove_nothing(
    cli: Cli, brought: Mapping[str, str], program: Path
) -> None:
    program.write_text(LIBRARY.replace('"Number {place}?"', '"Another {place}?"'))
    found = said_of(cli, brought, code=3)
    assert (found["verdict"], found["prompts"]) == ("unproven", [0, 3])
    assert "3 of its 3 prompts were none of the job's" in str(found["words"])


def test_the_same_candidates_without_the_prompts_prove_nothing(
    cli: Cli, brought: Mapping[str, str], tmp_path: Path, program: Path
) -> None:
    """One that looks candidates up where the job wrote them down has no need to ask."""
    (journal,) = (tmp_path / "runs/one/jobs").glob("*/events.jsonl")
    program.write_text(
        "import json\nimport recorded\n"
        f"for line in open({str(journal)!r}):\n"
        "    found = json.loads(line)\n"
        "    if found['kind'] == 'candidate':\n"
        "        recorded.measure(found['values'], recorded.train)\n"
    )
    found = said_of(cli, brought, code=3)
    assert (found["verdict"], found["candidates"], found["prompts"]) == ("unproven", 3, [0, 3])
    assert "3 of the job's 3 prompts it never sent" in str(found["words"])


def test_what_the_job_never_had_differs(cli: Cli, brought: Mapping[str, str], program: Path) -> None:
    program.write_text(LIBRARY.replace("+ place)", "+ place + 0.5)"))
    found = said_of(cli, brought, code=1)
    assert found["verdict"] == "differs"
    assert "a candidate that the job never had, and no cap had ended the job" in str(found["words"])


def test_what_is_left_out_differs(cli: Cli, brought: Mapping[str, str], program: Path) -> None:
    program.write_text(LIBRARY.replace("range(recorded", "range(-1 + recorded"))
    found = said_of(cli, brought, code=1)
    assert (found["verdict"], found["words"]) == ("differs", "the twin never had `c3`")


def test_a_twin_ends_where_a_cap_ended_the_job(cli: Cli, tmp_path: Path) -> None:
    found = said_of(cli, made(cli, tmp_path, evaluations=3), code=0)
    assert (found["verdict"], found["candidates"], found["measured"]) == ("same", 2, [3, 3])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        pytest.param("import tracebench_core\n" + LIBRARY, "has imported tracebench_core", marks=HEAVY),
        (IN_A_PROCESS.replace("LIBRARY", repr(LIBRARY)), "has imported tracebench_core"),
        ("raise ValueError('out of luck')", "failed with code 1"),
        pytest.param("", "failed with code 0", marks=HEAVY),
    ],
    ids=["ours", "ours in one of two processes", "raises", "does nothing"],
)
def test_a_twin_that_proves_nothing_is_refused(
    cli: Cli, brought: Mapping[str, str], program: Path, source: str, words: str
) -> None:
    program.write_text(source)
    done = cli("verify", "--twin", "one", env=brought)
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr or "out of luck" in done.stderr


@pytest.mark.parametrize(
    ("trainer", "record", "told"),
    [
        pytest.param("Lone", True, ("`Lone` declares no twin", "trace-bench list-trainers"), marks=HEAVY),
        ("Unequipped", True, ("`walking` is not installed", " walking")),
        ("Walker", False, ("was not recorded", "llm.record=true")),
    ],
)
def test_what_has_no_twin_is_told_in_words(
    cli: Cli, tmp_path: Path, trainer: str, record: bool, told: tuple[str, str]
) -> None:
    words, hint = told
    brought = made(cli, tmp_path, trainer=trainer, record=record)
    (job,) = (tmp_path / "runs/one/jobs").iterdir()
    done = cli("verify", "--twin", str(job.relative_to(tmp_path)), env=brought)
    assert done.returncode != 0
    assert words in done.stderr
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", one_in(4, ["request", "reply", "job_id", "role"]))
def test_a_recorded_call_that_lacks_something_is_named(
    cli: Cli, brought: Mapping[str, str], tmp_path: Path, name: str
) -> None:
    calls = tmp_path / "runs/one/llm/calls.jsonl"
    lines = calls.read_text().splitlines()
    lines[2] = json.dumps({field: value for field, value in json.loads(lines[2]).items() if field != name})
    calls.write_text("\n".join(lines) + "\n")
    done = cli("verify", "--twin", "one", "--no-overhead", env=brought)
    assert done.returncode == 2
    assert "is damaged in line 3" in done.stderr


def test_a_run_without_any_is_told(cli: Cli, tmp_path: Path) -> None:
    brought = made(cli, tmp_path, trainer="Lone")
    done = cli("verify", "--twin", "one", env=brought)
    assert done.returncode != 0
    assert "No trainer of `one` declares a twin." in done.stderr


def test_a_twin_and_a_head_are_not_asked_together(cli: Cli, brought: Mapping[str, str]) -> None:
    done = cli("verify", "--twin", "one", "--head", "0" * 64)
    assert done.returncode == 2
    assert "takes one job, or one run" in done.stderr
