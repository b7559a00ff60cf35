"""`doctor --live` asks each role's model once, with the fields that a run sends."""

from __future__ import annotations

import json
from pathlib import Path

from tests.llm.scripted import Scripted, chat
from typer.testing import CliRunner

from tracebench_core.cli.app import app


def test_each_role_is_asked_once_and_what_came_of_it_is_told(tmp_path: Path) -> None:
    refusal = {"error": {"message": "no such model: broken"}}
    with Scripted(chat({"content": "ok"})) as good, Scripted(refusal, status=404) as bad:
        llm = {
            "model": "fake",
            "base_url": good.base_url,
            "temperature": 0.5,
            "top_p": 0.9,
            "prices": {"fake": {"prompt": 1, "completion": 2}},
        }
        llm["roles"] = {"judge": {"model": "broken", "base_url": bad.base_url}}
        config = tmp_path / "c.json"
        config.write_text(json.dumps({"mode": "real", "llm": llm, "tasks": ["internal:numeric_param"]}))
        done = CliRunner().invoke(app, ["doctor", "--live", "--config", str(config), "--json"])
        bodies = [body for _, body in good.asked]
    told = json.loads(done.stdout)
    calls = {call["role"]: call for call in told["calls"]}
    assert done.exit_code == 3
    assert [body["temperature"] for body in bodies] == [body["top_p"] - 0.4 for body in bodies] == [0.5, 0.5]
    assert len(bad.asked) == 1
    assert {role: call["ok"] for role, call in calls.items()} == {"optimizer": True, "agent": True, "judge": False}
    assert calls["agent"]["words"] == "ok"
    assert calls["agent"]["usd"] == (11 + 2 * 7) / 1e6
    assert "no such model" in calls["judge"]["words"]
