"""What each coding agent adds to the same edits: calls, tokens, USD and seconds under one script, beside a trainer of our own.

    python benchmarks/agents.py [AGENT …]      those that are installed, or these, which are installed where they are not

A scripted model has each agent measure the start, make two edits by the agent's own tools, measure after each, and end. What
differs is how many calls that takes, and what the agent sends along with each: its instructions, its tools, the conversation up
to there. The script decides what is edited, so that nothing here says which agent is better.

Bytes are those of the requests as they reach the model, tools included. The server counts the words of messages and answers as
tokens, tools left out; USD are these at 2 and 8 USD per million, as the ledger has them, and `server` says whether the server's
own log has the same calls and tokens. Seconds are those of the whole job on this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from plugins.tracebench_trainers_ext.tests.coder import STAGES, Coder
from plugins.tracebench_trainers_ext.tests.scripted import KEY, run

from tracebench_engine.api.agents import install_agent, list_agents
from tracebench_engine.api.installed.hosting import open_host
from tracebench_testing.fake_openai import FakeOpenAI

BASELINE = "SequentialRefine"
"""Of ours: it asks for a whole new program each time, and sends the program, its score and its feedback."""
COLUMNS = ("calls", "bytes asked", "beside ours", "of the first call", "tokens", "USD", "seconds", "score", "server")


class Row(NamedTuple):
    """One run."""

    calls: int
    sizes: list[int]
    """Bytes of each request, in order."""
    tokens: int
    usd: float
    seconds: float
    score: float
    is_equal: bool
    """The ledger and the server's log agree on calls and tokens."""


def measured(folder: Path, trainer: dict[str, Any], **config: Any) -> Row:
    """Run one trainer against the scripted model."""
    stages = iter(STAGES)
    in_turn = Coder() if trainer["id"] == "Agent" else lambda _request: f"```python\n{next(stages)}```"
    with FakeOpenAI(act=in_turn) as server:
        results, _ = run(folder, server, [trainer], **config)
        served = [*server.log.served]
        sizes = [len(json.dumps(request)) for request in server.log.requests]
    (result,) = results.values()
    if result.status != "ok":
        raise SystemExit(f"{trainer}: {result.status}: {result.stop_reason} {result.error}")
    tokens = sum(s.prompt_tokens + s.completion_tokens for s in served)
    used = result.used
    return Row(
        calls=used.llm_calls,
        sizes=sizes,
        tokens=used.tokens,
        usd=used.usd or 0.0,
        seconds=result.time_seconds,
        score=result.score_val_best or 0.0,
        is_equal=(used.llm_calls, used.tokens) == (len(served), tokens),
    )


def main() -> None:
    """Run the baseline and the agents, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", metavar="AGENT")
    asked = parser.parse_args().agents
    host = open_host()
    offered = {agent.name: agent for agent in list_agents(host)}
    if unknown := sorted({*asked} - {*offered}):
        parser.error(f"no plugin offers {', '.join(unknown)}; there are {', '.join(offered)}")
    for name in asked:
        if not offered[name].path:
            offered[name] = install_agent(name, host)
    chosen = [offered[name] for name in asked or offered if offered[name].path]
    os.environ["FAKE_KEY"] = KEY
    with tempfile.TemporaryDirectory() as scratch:
        cap = {"evaluations": 60, "llm_calls": len(STAGES)}
        ours = measured(Path(scratch, "ours"), {"id": BASELINE}, budget=cap)
        print(
            f"{len(chosen)} agents; load {os.getloadavg()[0]:.1f}; two edits and three measurements of `internal:code_param`\n"
        )
        print(f"| agent | version | asks by | {' | '.join(COLUMNS)} |")
        print("|---" * (len(COLUMNS) + 3) + "|")
        show((f"{BASELINE} (ours)", "", "chat"), ours, ours)
        for agent in chosen:
            row = measured(Path(scratch, agent.name), {"id": "Agent", "params": {"agent": agent.name}})
            show((agent.name, agent.version, agent.wire), row, ours)


def show(names: tuple[str, ...], row: Row, ours: Row) -> None:
    """Print one row."""
    asked = sum(row.sizes)
    cells = (
        f"{row.calls}", f"{asked:,}", f"x{asked / sum(ours.sizes):.1f}", f"{row.sizes[0]:,}", f"{row.tokens:,}", f"{row.usd:.6f}",
        f"{row.seconds:.1f}", f"{row.score:g}", "the same" if row.is_equal else "DIFFERS",
    )  # fmt: skip
    print(f"| {' | '.join((*names, *cells))} |", flush=True)


if __name__ == "__main__":
    main()
