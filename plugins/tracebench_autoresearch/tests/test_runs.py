"""Whole runs: what is kept and why, a kill that loses nothing, other trainers, an agent, commits. Each starts several processes: heavy."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_autoresearch.tests.dials import answer, block, write, write_dial

from tracebench_core.proposing.answer_format import shown_values
from tracebench_testing.fake_openai import FakeOpenAI

CONFIG = """
mode: real
uncalibrated: score
seeds: [1]
llm: {{provider: openai, model: rules, base_url: "{url}", prices: {{rules: {{prompt: 1.0, completion: 2.0}}}}}}
tasks: ["autoresearch:{task}"]
trainers: [{trainer}]
"""
LOOP = "{id: Autoresearch, params_variants: [{num_experiments: 6}]}"
pytestmark = [pytest.mark.heavy("autoresearch"), pytest.mark.timeout(600)]
STATUSES = ["baseline", "keep", "discard", "discard", "crashed", "keep"]


def config(folder: Path, url: str, *, trainer: str = LOOP, task: str = "dial") -> Path:
    path = folder / "run.yaml"
    path.write_text(CONFIG.format(url=url, trainer=trainer, task=task))
    return path


def trace_bench(folder: Path, *words: str, check: bool = True) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tracebench_engine.cli", *words, "--runs-dir", str(folder / "runs")],
        check=False, capture_output=True, text=True, cwd=folder,
    )  # fmt: skip
    assert not check or done.returncode == 0, done.stderr
    return done.stdout if check else done.stderr


def history(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in trace_bench(folder, "autoresearch", "history", "r", "--jsonl").splitlines()]


def run_args(folder: Path, path: Path) -> list[str]:
    return ["run", "--config", str(path), "--root", str(folder / "root"), "-o", "run_id=r"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_dial(tmp_path / "root")
    return tmp_path / "root"


def test_what_helps_is_kept_and_the_rest_is_reverted_and_becomes_commits(root: Path, tmp_path: Path) -> None:
    with FakeOpenAI(reply=answer) as server:
        trace_bench(tmp_path, *run_args(tmp_path, config(tmp_path, server.base_url)))

    rows = history(tmp_path)
    assert [row["status"] for row in rows] == STATUSES
    assert [row["description"] for row in rows if row["status"] == "keep"] == ["a smaller rate", "the best rate"]
    assert rows[4]["value"] is None
    assert len(rows[0]["values"]) >= 4
    table = trace_bench(tmp_path, "autoresearch", "history", "r", "--tsv").splitlines()
    assert table[0].split("\t") == ["candidate", "loss", "runs", "memory_mb", "status", "description"]
    assert "+rate=3" in trace_bench(tmp_path, "autoresearch", "diff", "r")
    best = trace_bench(tmp_path, "autoresearch", "best", "r").splitlines()
    assert [line.split("\t")[0] for line in best[1:]] == ["c0", "c1", "c5", best[4], "c1", "c5"]
    assert "the best rate" in best[3]
    assert best[4].startswith("Measured anew: of 2 kept, 2 confirmed, total gain 3.9")

    repo, hooked = tmp_path / "mine", tmp_path / "hooked"
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    (repo / "work.txt").write_text("mine")
    hook = repo / ".git/hooks/reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {hooked}\n")
    hook.chmod(0o755)
    words = ("export", "r", "--repo", str(repo), "--root", str(root), "--results", str(tmp_path / "results"))
    exported = [trace_bench(tmp_path, "autoresearch", *words, "--branch", name) for name in ("kept", "again")]

    log = subprocess.run(
        ["git", "-C", str(repo), "log", "--format=%s", "kept"], check=True, capture_output=True, text=True
    )
    assert log.stdout.splitlines() == ["the best rate", "a smaller rate", "Base of the experiments"]
    shown = subprocess.run(
        ["git", "-C", str(repo), "show", "kept:dial.txt"], check=True, capture_output=True, text=True
    )
    assert "rate=3" in shown.stdout
    assert exported[0].split()[1] == exported[1].split()[1]
    assert not hooked.exists()
    assert sorted(path.name for path in repo.iterdir()) == [".git", "work.txt"]
    assert not (repo / ".git/index").exists()
    assert "has a branch `kept` already" in trace_bench(
        tmp_path, "autoresearch", *words, "--branch", "kept", check=False
    )
    results = (tmp_path / "results/results.tsv").read_text().splitlines()
    assert len(results) == len(rows) + 1


def test_a_run_that_is_killed_goes_on_with_the_same_history(root: Path, tmp_path: Path) -> None:
    with FakeOpenAI(reply=answer, delay=0.05) as server:
        path = config(tmp_path, server.base_url)
        words = [
            sys.executable,
            "-m",
            "tracebench_engine.cli",
            *run_args(tmp_path, path),
            "--runs-dir",
            str(tmp_path / "runs"),
        ]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and '"decision"' not in "".join(
            p.read_text() for p in tmp_path.glob("runs/r/jobs/*/events.jsonl")
        ):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        trace_bench(tmp_path, "resume", "r")

    assert [row["status"] for row in history(tmp_path)] == STATUSES


def test_two_runs_on_one_repository_leave_it_as_it_was(tmp_path: Path) -> None:
    folder = write_dial(tmp_path / "root")
    repo = tmp_path / "repo"
    repo.mkdir()
    for name in ("dial.txt", "score.sh"):
        (folder / name).rename(repo / name)
    experiment = folder / "experiment.yaml"
    experiment.write_text(f"repo: {repo}\n{experiment.read_text()}")
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-C", str(repo))
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run(["git", *who, *words], check=True)
    (repo / "notes.txt").write_text("mine, not committed")
    before = {path: path.read_bytes() for path in sorted(repo.rglob("*")) if path.is_file()}

    with FakeOpenAI(reply=answer) as server:
        path = config(tmp_path, server.base_url)
        command = [
            sys.executable,
            "-m",
            "tracebench_engine.cli",
            "run",
            "--config",
            str(path),
            "--root",
            str(tmp_path / "root"),
        ]
        runs = [
            subprocess.Popen(
                [*command, "--runs-dir", str(tmp_path / "runs"), "-o", f"run_id={name}"], stdout=subprocess.DEVNULL
            )
            for name in ("r", "s")
        ]
        assert [run.wait() for run in runs] == [0, 0]

    assert {path: path.read_bytes() for path in sorted(repo.rglob("*")) if path.is_file()} == before
    exports = [
        subprocess.Popen([
            sys.executable, "-m", "tracebench_engine.cli", "autoresearch", "export", name, "--repo", str(repo),
            "--root", str(tmp_path / "root"), "--branch", f"experiments/{name}", "--runs-dir", str(tmp_path / "runs"),
        ])
        for name in ("r", "s")
    ]  # fmt: skip
    assert [export.wait() for export in exports] == [0, 0]
    for name in ("r", "s"):
        log = subprocess.run(
            ["git", "-C", str(repo), "log", "--format=%s", f"experiments/{name}"],
            check=True,
            capture_output=True,
            text=True,
        )
        assert log.stdout.splitlines() == ["the best rate", "a smaller rate", "first"]
    assert (repo / "notes.txt").read_text() == "mine, not committed"
    assert "rate=5" in (repo / "dial.txt").read_text()


def test_another_trainer_optimises_the_program(root: Path, tmp_path: Path) -> None:
    """The researcher finds the best rate only where its program tells it to be bold; the adviser finds that out."""

    def reply(messages: list[dict[str, Any]]) -> str:
        prompt = "\n".join(str(message["content"]) for message in messages)
        if (values := shown_values(prompt)) is not None:
            return json.dumps({"reasoning": "", "values": {"program": f"{values['program']}\nBe bold."}})
        rate = 3 if "Be bold." in prompt else 4
        return f"Hypothesis: rate {rate}\n\n{block('dial.txt', 'rate=5', f'rate={rate}')}"

    with FakeOpenAI(reply=reply) as server:
        trainer = "{id: SequentialRefine, params_variants: [{num_steps: 1}]}"
        path = config(tmp_path, server.base_url, trainer=trainer, task="program/dial")
        trace_bench(tmp_path, *run_args(tmp_path, path))

    (result,) = [json.loads(path.read_text()) for path in tmp_path.glob("runs/r/jobs/*/results.json")]
    assert result["status"] == "ok"
    (kept,) = tmp_path.glob("runs/r/jobs/*/events.jsonl")
    events = [json.loads(line) for line in kept.read_text().splitlines()]
    scores = [e["score"] for e in events if e["kind"] == "evaluation" and e["by"] == "trainer"]
    assert [round(score) for score in scores] == [-2, -1]
    assert {call["role"] for call in events if call["kind"] == "llm_call"} == {"agent", "optimizer"}


def test_a_full_disk_is_no_crash_of_the_candidate(root: Path, tmp_path: Path) -> None:
    (root / "dial/big.txt").write_text("x" * 1_000_000)
    code = (
        "import os, sys, tempfile\nfrom pathlib import Path\nfrom tracebench_engine.api import evaluate_task\n"
        "print(evaluate_task('autoresearch:dial', root=Path(sys.argv[1]))[0].text)"
    )
    (tmp_path / "small").mkdir()
    script = 'mount -t tmpfs -o size=400k tmpfs "$1" && TMPDIR=$1 exec "$2" -c "$3" "$4"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", str(tmp_path / "small"), sys.executable, code, str(root)],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")

    assert "No space left on device" in done.stdout + done.stderr
    assert "crashed" not in done.stdout


def test_another_trainer_works_on_the_same_task(root: Path, tmp_path: Path) -> None:
    files = {"dial.txt": "rate=3\nflavour=plain\ncrash=\nhang=\nsilent=\n"}
    reply = json.dumps({"reasoning": "", "values": {"files": files}})
    with FakeOpenAI(reply=lambda _: reply) as server:
        trainer = "{id: SequentialRefine, params_variants: [{num_steps: 1}]}"
        trace_bench(tmp_path, *run_args(tmp_path, config(tmp_path, server.base_url, trainer=trainer)))

    assert [row["status"] for row in history(tmp_path)] == ["baseline", "measured"]
    assert "+rate=3" in trace_bench(tmp_path, "autoresearch", "diff", "r")


def test_an_agent_edits_the_files_with_the_gateway_as_its_model(root: Path, tmp_path: Path) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(
        "import json, os, pathlib, sys, urllib.request\n"
        "notes = pathlib.Path(os.environ['AGENT_NOTES'])\n"
        "prompt = pathlib.Path(sys.argv[1]).read_text()\n"
        "body = {'model': os.environ['TRACEBENCH_MODEL'], 'messages': [{'role': 'user', 'content': prompt}]}\n"
        "head = {'Authorization': 'Bearer ' + os.environ['OPENAI_API_KEY'], 'Content-Type': 'application/json'}\n"
        "url = os.environ['OPENAI_BASE_URL'] + '/chat/completions'\n"
        "request = urllib.request.Request(url, json.dumps(body).encode(), head)\n"
        "said = json.load(urllib.request.urlopen(request))['choices'][0]['message']['content']\n"
        "dial = pathlib.Path('dial.txt')\n"
        "dial.write_text(dial.read_text().replace('rate=5', said))\n"
        "notes.joinpath('hypothesis.txt').write_text('the agent sets ' + said)\n"
        "if 'the agent sets' in prompt: pathlib.Path('score.sh').write_text('echo loss: 0')\n"
    )
    trainer = f"{{id: Autoresearch, params_variants: [{{num_experiments: 2, agent: [python, {agent}, '{{prompt}}']}}]}}"
    with FakeOpenAI(reply=lambda _: "rate=3") as server:
        trace_bench(tmp_path, *run_args(tmp_path, config(tmp_path, server.base_url, trainer=trainer)))
        assert len(server.log.served) == 2

    rows = history(tmp_path)
    assert [row["status"] for row in rows] == ["baseline", "keep", "refused"]
    assert rows[1]["description"] == "the agent sets rate=3"


def test_a_run_whose_program_leaves_out_its_output_says_so_in_its_line(tmp_path: Path) -> None:
    experiment = {
        "editable": ["train.py"],
        "run": {"command": "python train.py", "outputs": ["pred.json"]},
        "evaluate": "python judge.py",
        "metric": {"name": "score"},
    }
    files = {"train.py": "print('trained')\n", "judge.py": "print('score: 1')\n"}
    write(tmp_path / "root", "missing", experiment, files)

    with FakeOpenAI(reply=answer) as server:
        path = config(tmp_path, server.base_url, task="missing")
        said = trace_bench(tmp_path, *run_args(tmp_path, path), check=False)

    (line,) = [line for line in said.splitlines() if line.startswith("[1/1] failed")]
    assert "`run` left no plain file `pred.json`" in line
