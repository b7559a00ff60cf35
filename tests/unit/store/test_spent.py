"""What a run paid for is told over all attempts, whatever counts in the end."""

import csv
import io
import json

from typer.testing import CliRunner

from tracebench_engine import api
from tracebench_engine.cli.app import app
from tracebench_engine.config import parse_config
from tracebench_runs.events.spent import LedgerReader, Payer, spent_of
from tracebench_runs.reading.reader import load_run


def call(job="a", *, attempt="1", **changes):
    line = {"v": 1, "kind": "llm_call", "t": "", "job_id": job, "attempt": attempt, "call": 1, "role": "optimizer"}
    line |= {"model": "m", "phase": "training", "status": "ok", "prompt_tokens": 10, "completion_tokens": 5, "usd": 0.5}
    return json.dumps(line | changes, separators=(",", ":")).encode() + b"\n"


def test_all_attempts_are_added_up_by_role_and_model(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = LedgerReader(path)
    ledger.read()
    assert (ledger.of("a"), ledger.by_payer(), spent_of(ledger)) == (None, None, None)

    path.write_bytes(
        call()
        + b'{"kind":"release","job_id":"a","attempt":"1"}\n'
        + call(attempt="2")
        + call(attempt="2", reused=True)
        + call(role="judge", model="j", estimated=True, usd=None)
        + call(status="refused")
        + call("b", cached=True)
        + call("b")[:-20]
    )
    ledger.read()
    a = ledger.of("a")
    assert (a.llm_calls, a.tokens, a.usd, a.estimated_tokens, a.refused) == (3, 45, None, 15, 1)
    assert (ledger.of("b").llm_calls, ledger.of("b").cached_calls) == (0, 1)
    assert ledger.of("never asked").llm_calls == 0

    with path.open("ab") as file:
        file.write(call("b")[-20:])
    ledger.read()
    ledger.read()
    assert ledger.of("b").llm_calls == 1
    assert set(ledger.by_payer()) == {Payer("judge", "j"), Payer("optimizer", "m")}
    assert spent_of(ledger, job_ids={"b"})["total"]["usd"] == 0.5


def test_what_did_not_reach_a_model_is_counted_by_calls_and_shown(tmp_path):
    config = parse_config({"mode": "stub", "run_id": "r", "runs_dir": str(tmp_path), "tasks": ["internal:multi_param"]})
    run = load_run(api.run(config, stream=io.StringIO()).run_dir)
    job = next(iter(run.results))
    shown = CliRunner().invoke(app, ["show", str(run.layout.path)]).output
    assert ("Left out" in shown, run.left_out()) == (False, {})

    with run.layout.ledger.open("ab") as file:
        file.write(call(job, left_out=["top_k", "seed"]) + call(job, left_out=["seed"]) + call("b", left_out=["seed"]))
        file.write(call(job, left_out=["seed"], reused=True))
    run = load_run(run.layout.path)
    assert (list(run.left_out(job).items()), run.left_out()["seed"]) == ([("seed", 2), ("top_k", 1)], 3)
    words = [CliRunner().invoke(app, ["show", str(at)]).output for at in (run.layout.path, run.layout.job(job).path)]
    assert "Left out of requests:  seed (3 calls), top_k (1 call)" in words[0]
    assert "left out:   seed (2 calls), top_k (1 call)" in words[1]
    told = json.loads(CliRunner().invoke(app, ["show", str(run.layout.path), "--json"]).stdout)
    assert told["left_out"] == {"seed": 3, "top_k": 1}


def test_a_run_whose_job_was_done_twice_tells_both_everywhere(tmp_path):
    config = parse_config(
        {
            "mode": "stub",
            "run_id": "twice",
            "runs_dir": str(tmp_path),
            "tasks": ["internal:multi_param"],
            "trainers": [{"id": "SequentialRefine", "params": {"num_steps": 2}}],
            "seeds": [1],
        }
    )
    run_dir = api.run(config, stream=io.StringIO()).run_dir
    (job,) = load_run(run_dir).planned
    for name in ("results.json", "events.jsonl"):
        (run_dir / "jobs" / job.job_id / name).unlink()
    assert CliRunner().invoke(app, ["resume", str(run_dir)]).exit_code == 0

    run = load_run(run_dir)
    used = run.results[job.job_id].usage["optimizer"]
    (row,) = csv.DictReader((run_dir / "results.csv").read_text().splitlines())
    (board,) = csv.DictReader((run_dir / "leaderboard.csv").read_text().splitlines())
    summary = json.loads((run_dir / "summary.json").read_bytes())
    assert used.llm_calls == 2
    assert used.estimated_tokens == used.tokens  # the stub sends no usage
    assert [run.spent(i)["total"]["llm_calls"] for i in (None, job.job_id)] == [4, 4]
    assert (row["llm_calls"], row["spent_calls"], board["spent_calls"]) == ("2", "4", "4")
    assert (summary["usage"]["total"]["llm_calls"], summary["spent"]["total"]["llm_calls"]) == (2, 4)
    assert summary["spent"]["by"][0]["model"] == "stub"
    assert int(row["spent_estimated_tokens"]) == int(row["spent_tokens"]) == 2 * used.tokens
    assert run.jobs("columns")["spent_llm_calls"] == [4]
    told = CliRunner().invoke(app, ["show", str(run_dir)])
    assert f"4 calls, {2 * used.tokens} tokens (100% estimated)" in " ".join(told.output.split())
    assert CliRunner().invoke(app, ["fsck", str(run_dir)]).exit_code in (0, 1)
