"""What a recording holds of a call: of an answer where its text lies, of a failure what it was."""

from __future__ import annotations

import json
from pathlib import Path

from tracebench_core.specs import ModelIdentity
from tracebench_gateway.cassette.recorder import CALLS_FILE, Recorder
from tracebench_gateway.exchange import ChatRequest, Metered, ProviderError, Reply, Tokens

METERED = Metered(tokens=Tokens(prompt=1, completion=1), usd=0.0)
ASKED = ChatRequest(
    job_id="j",
    seed=1,
    role="judge",
    identity=ModelIdentity(provider="stub", model="stub"),
    messages=[{"role": "user", "content": "Weigh it."}],
    sampling={},
    digest="d",
)


def test_an_answer_is_kept_by_its_blob_and_a_failure_in_words(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    answered = recorder.keep(ASKED, Reply({"role": "assistant", "content": "3"}, "stop"), METERED)
    failed = recorder.keep(ASKED, ProviderError("too many", kind="rate_limited", status_code=429), METERED)

    assert "error" not in answered
    assert any(blob.name == answered["reply"] for blob in (tmp_path / "blobs").rglob("*"))
    assert "reply" not in failed
    assert failed["error"] == {"kind": "rate_limited", "message": "too many", "status_code": 429}
    assert [json.loads(line) for line in (tmp_path / CALLS_FILE).read_text().splitlines()][1:] == [answered, failed]
