"""What is asked of Coq's programs and what their words make, on programs that say what the test wants: no Coq is needed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_veribench.tests.proving import Held, write_tool

from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import MissingRequirementError
from tracebench_core.specs import Outcome
from tracebench_veribench import __main__ as command
from tracebench_veribench.coq import loading as coq_loading
from tracebench_veribench.coq.environment import CoqEnvironment
from tracebench_veribench.coq.library import recheck, required
from tracebench_veribench.coq.problem import load_problem
from tracebench_veribench.coq.verifying import verify
from tracebench_veribench.judge import judge
from tracebench_veribench.lean import loading as lean_loading
from tracebench_veribench.prover import COQ

SUM = load_problem("list_sum")
SUMMARY = """CONTEXT SUMMARY
===============

* Theory: Set is predicative

* Axioms: {axioms}

* Constants/Inductives relying on type-in-type: <none>

* Constants/Inductives relying on unsafe (co)fixpoints: <none>

* Inductives whose positivity is assumed: <none>
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of programs, but for the system's `cat`."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def both(tools: Path, summary: str) -> None:
    write_tool(
        tools, "coqc", f'#!/bin/sh\nexec >{tools}/asked\necho "$@"\nwhile read -r line; do echo "$line"; done <All.v\n'
    )
    write_tool(tools, "coqchk", f"#!/bin/sh\necho \"$@\" >{tools}/checked\n/bin/cat <<'END'\n{summary}\nEND\nexit 1\n")


@pytest.mark.parametrize(
    ("summary", "code", "words"),
    [
        (SUMMARY.format(axioms="<none>"), 0, ("accepts them and all that they load, in ", "s; nothing is assumed.\n")),
        (
            SUMMARY.format(axioms="Coq.Logic.classic"),
            1,
            ("accepts them and all that they load, in ", "s; something is assumed.\n"),
        ),
        ("Fatal Error: " + "x" * 3000, 1, ("coqchk refuses them, in ", "s; something is assumed.\n")),
    ],
)
def test_the_library_is_rechecked_by_the_names_that_are_loaded(
    summary: str, code: int, words: tuple[str, ...], tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both(tools, summary)

    assert recheck() == code

    said = capsys.readouterr()
    names = required()
    assert said.out.startswith(f"{len(names)} modules are named ({', '.join(names)}).\ncoqchk ")
    for part in words:
        assert part in said.out
    assert said.err == ("" if code == 0 else summary[-1999:] + "\n\n")
    asked = (tools / "asked").read_text().splitlines()
    assert asked == ["-q -R .  All.v", *(f"From Coq Require {name}." for name in names)]
    assert (tools / "checked").read_text() == "-silent -o All -R . \n"


@pytest.mark.parametrize(("here", "missing"), [((), "coqc"), (("coqc",), "coqchk")])
def test_what_is_missing_is_named_with_what_installs_it(
    here: tuple[str, ...], missing: str, tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in here:
        write_tool(tools, name, "#!/bin/sh\n")

    assert recheck() == 3

    assert capsys.readouterr().err == f"`{missing}` is not on PATH\nhint: apt-get install coq\n"


def test_an_environment_says_where_coq_is_which_one_and_how_it_is_bounded(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context: Any = None
    for name in ("coqc", "coqtop"):
        with pytest.raises(MissingRequirementError, match=f"^`{name}` is not on PATH$") as told:
            CoqEnvironment().open(context)
        assert told.value.hint == "apt-get install coq"
        write_tool(tools, name, '#!/bin/sh\n[ "$1" = --print-version ] && echo "8.20.1 5.1.0"\n')
    monkeypatch.setenv("OCAMLFIND_CONF", str(tmp_path / "none"))
    environment = CoqEnvironment(seconds=7.0)

    found = environment.open(context)
    write_tool(tools, "coqchk", "#!/bin/sh\n")
    write_tool(tools, "coqc", "#!/bin/sh\n")
    (tmp_path / "findlib.conf").write_text("path=é")
    monkeypatch.setenv("OCAMLFIND_CONF", str(tmp_path / "findlib.conf"))
    more = CoqEnvironment().open(context)
    environment.close()

    places = {"coqc": str(tools / "coqc"), "coqtop": str(tools / "coqtop")}
    assert found == {**places, "version": "8.20.1", "coqchk": "", "findlib": "", "seconds": 7.0, "memory_mb": 2048}
    bounds = {"seconds": 40.0, "memory_mb": 2048}
    assert more == {**places, "version": "unknown", "coqchk": str(tools / "coqchk"), "findlib": "path=é"} | bounds


class Answering:
    """A sandbox's commands, as their outcomes are told."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes, self.limits = list(outcomes), list[Any]()

    def command(self, argv: Any, *, files: Any, stdin: str, limits: Any) -> Outcome:
        assert argv[4:6] == ["/coqc", "/coqtop"]
        assert files["Candidate.v"] == "Definition x := 1."
        self.limits.append(limits)
        return self.outcomes.pop(0)


HANDLE = {"coqc": "/coqc", "coqtop": "/coqtop", "version": "8.20.1", "seconds": 40.0, "memory_mb": 100}


@pytest.mark.parametrize("status", ["timeout", "memory", "killed"])
def test_a_check_that_does_not_finish_is_told_with_its_bounds(status: Any) -> None:
    sandbox = Answering(Outcome(status=status, error="it was ended"))
    held = Held(sandbox, {"coq": HANDLE})

    verdict = verify(SUM, "Definition x := 1.", held, seconds=2.5)  # type: ignore[arg-type]

    assert verdict.status == "timeout"
    assert verdict.notes["compiles"] == ["Coq did not finish within 2.5 s and 100 MB: it was ended"]
    assert held.records == [("verdict", {"checker": "coq 8.20.1", "stages": {"gate": 1.0, "compiles": 0.0}})]
    assert (sandbox.limits[0].seconds, sandbox.limits[0].memory_mb, sandbox.limits[0].output_bytes) == (
        2.5,
        100,
        1 << 20,
    )


def test_a_coq_that_says_nothing_measures_nothing_and_what_is_not_allowed_asks_none() -> None:
    for outcome, words in (
        (Outcome(status="error", error="no shell"), "no shell"),
        (Outcome(status="ok", value={"returncode": 0, "stdout": "", "stderr": "y" + "x" * 299}), "y" + "x" * 299),
        (Outcome(status="ok", value={"returncode": 0, "stdout": "", "stderr": "y" + "x" * 300}), "x" * 300),
    ):
        held = Held(Answering(outcome), {"coq": HANDLE})
        with pytest.raises(NotMeasured) as told:
            verify(SUM, "Definition x := 1.", held)  # type: ignore[arg-type]
        assert str(told.value) == f"Coq ended without its answers: {words}"
    asking = Held(Answering(), {"coq": HANDLE})
    refused = verify(SUM, "Axiom x : False.", asking)  # type: ignore[arg-type]
    assert (refused.status, refused.score, asking.records) == ("invalid", 0.0, [])


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ('{"score": 0.5}', 0.5),
        ('Well: {"score": 1, "reason": "{}"} so.', 1.0),
        ('{"score": 0}', 0.0),
        ('{"score": 1.01}', None),
        ('{"score": -0.01}', None),
        ('{"score": true}', None),
        ('{"score": "1"}', None),
        ('{"other": 1}', None),
        ("{score: 1}", None),
        ("[1]", None),
        ("", None),
    ],
)
def test_a_second_opinion_is_a_number_from_0_to_1_or_none(reply: str, score: float | None) -> None:
    held = Held(None, {}, reply=lambda messages, role: reply)
    [assignment] = coq_loading.prompt_list_sum()._assignments.values()

    found = judge(assignment, COQ, "the file", held)  # type: ignore[arg-type]

    assert found == score
    assert isinstance(found, float | None)
    [(role, messages)] = held.asked
    assert role == "judge"
    assert "(`Admitted`, an axiom)" in messages[0]["content"]
    assert "```coq\nthe file\n```" in messages[1]["content"]
    assert f"- sum_nil: {SUM.theorems['sum_nil']}" in messages[1]["content"]


def test_a_loader_has_the_problem_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert coq_loading.answers_list_sum({}) == [{"file": SUM.gold}]
    part = coq_loading.suite(splits=frozenset({"test"}))
    assert {*part.splits} == {"test"}
    for module, name in (
        (coq_loading, "other_list_sum"),
        (lean_loading, "file_x"),
        (lean_loading, "other_1"),
        (lean_loading, "file"),
    ):
        with pytest.raises(AttributeError, match=f"^{name}$"):
            getattr(module, name)
    monkeypatch.setenv("VERIBENCH_ROOT", str(tmp_path))
    with pytest.raises(AttributeError, match=r"^the root holds no problem 0$"):
        lean_loading.file_0  # noqa: B018
    with pytest.raises(MissingRequirementError, match="VeriBench's rows are not on this machine") as told:
        lean_loading.placeholder(timeout_seconds=3)
    assert "python -m tracebench_veribench fetch veribench-data" in str(told.value.hint)


def test_a_file_is_checked_for_as_long_as_its_options_say() -> None:
    task = coq_loading.file_list_sum(timeout_seconds=11.0)
    sandbox = Answering(Outcome(status="timeout", error="late"))
    [example] = task.splits["train"]
    held: Any = Held(sandbox, {"coq": HANDLE})
    told = task.guide(example, task.run({"file": "Definition x := 1."}, example, held), held)
    assert told.status == "timeout"
    assert sandbox.limits[0].seconds == 11.0


def test_rows_are_fetched_whole_or_it_is_said_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packages, folder = tmp_path / "packages", tmp_path / "new/rows"
    packages.mkdir()
    (packages / "datasets.py").write_text(
        "def load_dataset(name, *, split, revision):\n"
        "    if revision == 'none': raise OSError('no such revision')\n"
        "    return [{'name': name, 'split': split, 'revision': revision}] * 3\n"
    )
    monkeypatch.syspath_prepend(packages)
    monkeypatch.setitem(sys.modules, "datasets", None)  # whatever is imported by this name goes with the test
    del sys.modules["datasets"]

    def run(*more: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["veribench", *more])
        code = command.main()
        said = capsys.readouterr()
        return code, said.out, said.err

    assert run("fetch", str(folder), "--revision", "r") == (
        0,
        f"3 rows in {folder}/veribench.jsonl\nexport VERIBENCH_ROOT={folder}\n",
        "",
    )
    row = {"name": "allenanie/veribench_with_prompts", "split": "train", "revision": "r"}
    rows = [json.loads(line) for line in (folder / "veribench.jsonl").read_text().splitlines()]
    assert [{**one, "name": ""} for one in rows] == [{**row, "name": ""}] * 3
    code, out, err = run("fetch", str(tmp_path / "other"), "--revision", "none")
    assert (code, out) == (1, "")
    assert err.endswith("` cannot be loaded: no such revision\nhint: check the network, then run the command again\n")
    assert not (tmp_path / "other").exists()
    monkeypatch.delitem(sys.modules, "datasets")
    (packages / "datasets.py").write_text("raise ImportError")
    code, out, err = run("fetch", str(tmp_path / "other"))
    assert (code, out) == (3, "")
    assert err.startswith("`datasets` is not installed\nhint: ")
    assert '"tracebench-veribench[hub]"' in err
    monkeypatch.delitem(sys.modules, "datasets", raising=False)
    monkeypatch.setenv("PATH", str(packages))
    assert run("recheck")[0] == 3
