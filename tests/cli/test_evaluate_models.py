"""`evaluate` where a model is asked: a run that is recorded, continued, replayed, and compared question by question."""

from __future__ import annotations

import json
import shlex
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.llm.scripted import chat
from tests.whole import HEAVY, one_in

from tracebench_engine.api.verdicts import verdict_at_end
from tracebench_testing.local_http import LocalServer

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]
QUESTIONS = 40

SUITE = """
from pydantic import BaseModel
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, SuiteSpec, TaskSpec

class Options(BaseModel, extra="forbid"):
    rows: int = 10

class Sums:
    objective = "be right"
    def __init__(self, rows):
        self.parameters = (Parameter(name="prompt", initial="Add."), Parameter(name="code", initial="x = 1", kind="code"))
        rows = [Example(id=f"q{n}", input=f"{n} + 1", reference=str(n + 1)) for n in range(rows)]
        self.splits = {"train": (Example(id="t", input="1 + 1", reference="2"),), "test": tuple(rows)}
    def run(self, values, example, context):
        return context.complete([{"role": "user", "content": values["prompt"] + " " + example.input}], role="agent")[0].text
    def guide(self, example, output, context):
        return Feedback(score=float(output == example.reference), text=f"said {output}", metrics={"length": len(output)})

@hookimpl
def tracebench_suite(): return SuiteSpec(title="Mine")

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="sums", loader="mine:Sums", options="mine:Options", title="Sums", uses_model=True, worst_score=0.0,
                     size_options={"test": "rows"})]
"""


class Adder:
    """A server that adds: right where the prompt says `carefully`, else on two questions in three; it may break off."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.breaks_after = 10**9
        self.now = self.most = 0
        """Requests under way, and the most that ever were."""
        adder, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
                with lock:
                    is_broken = adder.asked.total() >= adder.breaks_after
                    adder.asked[text] += not is_broken
                    adder.now += 1
                    adder.most = max(adder.most, adder.now)
                time.sleep(0.01)
                with lock:
                    adder.now -= 1
                left = int(text.rpartition(" + ")[0].split()[-1])
                is_right = "carefully" in text or left % 3
                body = json.dumps(chat({"content": str(left + 1) if is_right else "0"})).encode()
                self.send_response(400 if is_broken else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = LocalServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def adder() -> Iterator[Adder]:
    found = Adder()
    yield found
    found.close()


@pytest.fixture
def mine(plugin_path: Install) -> Mapping[str, str]:
    return {"TRACEBENCH_PLUGINS": "mine", **plugin_path("mine", SUITE, group="tracebench", entry="mine", target="mine")}


@pytest.fixture
def prompts(tmp_path: Path) -> list[str]:
    (tmp_path / "plain.txt").write_text("Add")
    (tmp_path / "careful.md").write_text("Add carefully")
    return ["plain.txt", "careful.md"]


def test_prompts_are_scored_with_errors_and_a_paired_interval_and_a_bad_file_costs_itself_alone(
    cli: Cli, mine: Mapping[str, str], adder: Adder, prompts: list[str], tmp_path: Path
) -> None:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "wrong.json").write_text('{"promt": "Add"}')
    asked = ["--model", "m", "--base-url", adder.url, "--limit", str(QUESTIONS), "--run-id", "r"]
    done = cli("evaluate", "mine:sums", *prompts, "bad.json", "wrong.json", *asked, "--json", env=mine)

    assert done.returncode == 1, done.stderr  # a file was left out
    told = json.loads(done.stdout)
    assert [c["label"] for c in told["candidates"]] == ["careful.md", "plain.txt"]
    best, other = told["candidates"]
    wrong = sum(n % 3 == 0 for n in range(QUESTIONS))
    share = 1 - wrong / QUESTIONS
    assert (best["score"], other["score"]) == (1.0, pytest.approx(share))
    assert other["standard_error"] == pytest.approx((share * (1 - share) / (QUESTIONS - 1)) ** 0.5)
    assert (other["questions"], other["calls"], other["tokens"]) == (QUESTIONS, QUESTIONS, 18 * QUESTIONS)
    (pair,) = told["pairs"]
    assert (pair["verdict"], pair["won"], pair["lost"]) == ("better", wrong, 0)
    assert pair["difference"]["estimate"] == pytest.approx(wrong / QUESTIONS)
    assert pair["probability"] == pytest.approx(2 * 0.5**wrong)
    assert sorted(told["refused"]) == ["bad.json", "wrong.json"]
    assert "Did you mean `prompt`" in told["refused"]["wrong.json"]
    assert adder.asked.total() == 2 * QUESTIONS

    again = cli("evaluate", "mine:sums", *prompts, *asked, env=mine)
    assert again.returncode == 0, again.stderr
    assert "`careful.md` is better than `plain.txt`" in again.stdout
    assert adder.asked.total() == 2 * QUESTIONS  # the run was complete

    said = verdict_at_end(tmp_path / "runs" / "r")  # as the viewer and a published site tell it
    assert said.sentence.startswith("`careful.md` is better than `plain.txt`: ")
    assert said.decided

    shown = cli("compare", "r", "--metric", "length", "--columns", "file,score", env=mine)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[:2] == ["file\tscore", "careful.md\t1.775"]
    refused = cli("compare", "r", "--metric", "lenght", env=mine)
    assert (refused.returncode, "there are `score`, `length`" in refused.stderr) == (2, True)

    repeated = cli("replay", "r", env=mine)
    assert repeated.returncode == 0, repeated.stderr
    assert adder.asked.total() == 2 * QUESTIONS


@HEAVY
def test_what_a_cut_off_evaluation_has_paid_for_is_not_asked_again(
    cli: Cli, mine: Mapping[str, str], adder: Adder, prompts: list[str]
) -> None:
    adder.breaks_after = 60
    command = ["evaluate", "mine:sums", *prompts, "--model", "m", "--base-url", adder.url, "--limit", str(QUESTIONS)]
    command += ["--run-id", "r", "-o", "llm.max_retries=0", "-o", "evaluation_retries=0"]
    first = cli(*command, env=mine)
    assert first.returncode != 0
    assert "`careful.md` is not complete: seed 0 is `unscored`" in first.stderr

    adder.breaks_after = 10**9
    second = cli("resume", "r", "--failed", env=mine)
    assert second.returncode == 0, second.stderr
    assert "`careful.md` is better than `plain.txt`" in second.stdout
    assert len(+adder.asked) == 2 * QUESTIONS  # while it was broken it was asked without an answer
    assert max(adder.asked.values()) == 1


@pytest.mark.parametrize(
    "caps",
    one_in(
        2, [(["-o", "run_budget.llm_calls=50"], ["--max-calls", "90"]), (["--max-usd", "0.05"], ["--max-usd", "1"])]
    ),
)
def test_a_cap_that_is_reached_in_the_middle_is_never_passed_and_raising_it_asks_only_what_is_left(
    cli: Cli, mine: Mapping[str, str], adder: Adder, prompts: list[str], caps: tuple[list[str], list[str]]
) -> None:
    capped, raised = caps
    priced = ["-o", "llm.prices={m: {prompt: 50, completion: 50}}"]
    command = ["evaluate", "mine:sums", *prompts, "--model", "m", "--base-url", adder.url, "--limit", str(QUESTIONS)]
    first = cli(*command, "--run-id", "r", *priced, *capped, env=mine)

    assert first.returncode == 5, first.stderr
    assert "is not complete" in first.stderr
    assert "trace-bench resume" in first.stderr
    assert 20 <= adder.asked.total() <= 55

    second = cli("resume", "r", *raised, env=mine)
    assert second.returncode == 0, second.stderr
    assert "`careful.md` is better than `plain.txt`" in second.stdout
    assert len(adder.asked) == 2 * QUESTIONS
    assert max(adder.asked.values()) == 1


def test_seeds_are_repeats_of_a_question_and_no_further_questions(
    cli: Cli, mine: Mapping[str, str], adder: Adder, prompts: list[str]
) -> None:
    asked = ["--model", "m", "--base-url", adder.url, "--seeds", "3", "--in-flight", "2", "--json"]
    done = cli("evaluate", "mine:sums", prompts[0], *asked, env=mine)
    assert adder.most == 2
    (one,) = json.loads(done.stdout)["candidates"]
    assert (one["questions"], one["rows"], one["score"]) == (10, 30, pytest.approx(0.6))
    assert one["standard_error"] == pytest.approx((0.6 * 0.4 / 9) ** 0.5)


@HEAVY  # the first one is told of such a metric, too
def test_a_metric_that_there_is_none_of_is_told_with_a_command_that_asks_nobody_again(
    cli: Cli, mine: Mapping[str, str], adder: Adder, prompts: list[str]
) -> None:
    asked = ["--model", "m", "--base-url", adder.url, "--metric", "lenght", "--runs-dir", "kept here"]
    done = cli("evaluate", "mine:sums", *prompts, *asked, env=mine)
    assert (done.returncode, "there are `score`, `length`" in done.stderr) == (2, True)
    paid = adder.asked.total()

    (line,) = [line for line in done.stderr.splitlines() if "trace-bench compare" in line]
    shown = cli(*shlex.split(line[line.index("trace-bench ") :])[1:], env=mine)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[1].split("\t")[:2] == ["careful.md", "1"]
    assert adder.asked.total() == paid


def test_nobody_answers_is_one_sentence_and_no_zero(cli: Cli, mine: Mapping[str, str], prompts: list[str]) -> None:
    address = ["--base-url", "http://127.0.0.1:1/v1", "-o", "llm.max_retries=0", "-o", "evaluation_retries=0"]
    done = cli("evaluate", "mine:sums", prompts[0], "--model", "m", *address, "--in-flight", "2", env=mine)
    assert done.returncode != 0
    assert done.stdout.splitlines()[1].split("\t")[:2] == ["plain.txt", "-"]
    assert "none of 10 evaluations could be measured" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_name_of_a_model_it_is_said_what_to_set(
    cli: Cli, mine: Mapping[str, str], prompts: list[str]
) -> None:
    done = cli("evaluate", "mine:sums", prompts[0], env=mine)
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    assert "_API_KEY" in done.stderr
