"""What to look at first when a live call of a model failed."""

from __future__ import annotations

import pytest

from tracebench_engine.api.live import mend

AT, V1 = "http://h:1", "http://h:1/v1"
IS_THERE = "is the server there? curl -sS {}/models   (else mend `base_url`)"
AS_IT_STANDS = "`base_url` is asked as it stands; OpenAI's API mostly stands at `/v1`: curl -sS http://h:1/models"
LISTS = "curl -sS http://h:1/v1/models   lists the models that this server has"
NO_KEY = "no key is sent: `api_key_env: VARIABLE` beside `model` names one"
UNSET = "`LIVE_KEY` is not set in this shell: export LIVE_KEY=…"
WRONG = "`LIVE_KEY` is set, and is refused; for another key, or a whole one of this address: export LIVE_KEY=…"


@pytest.mark.parametrize(
    ("call", "value", "hint"),
    [
        (("auth: 401", None, None), "", NO_KEY), (("auth: 401", AT, None), "k", NO_KEY), (("auth", AT, "LIVE_KEY"), "", UNSET),
        (("auth: 404", V1, "LIVE_KEY"), "", UNSET), (("auth: 401", V1, "LIVE_KEY"), "k", WRONG),
        (("auth: litellm is not installed", None, "LIVE_KEY"), "", ""), (("auth: litellm is not installed", V1, "LIVE_KEY"), "k", ""),
        (("refused: no", AT, None), "", IS_THERE.format(AT)), (("refused: 404", V1, None), "", IS_THERE.format(V1)),
        (("refused: 404", None, None), "", ""), (("refused", AT, "LIVE_KEY"), "", IS_THERE.format(AT)),
        (("failed: 404", AT, None), "", AS_IT_STANDS), (("failed: NotFoundError", AT, None), "", AS_IT_STANDS),
        (("failed: 404", V1, None), "", LISTS), (("failed: NotFoundError", V1, "LIVE_KEY"), "", LISTS),
        (("failed: 404", None, None), "", ""), (("failed: 500", AT, None), "", ""), (("failed: 500", V1, "LIVE_KEY"), "", ""),
        (("404: gone", AT, None), "", ""), (("", AT, None), "", ""), (("", None, None), "", ""),
    ],
)  # fmt: skip
def test_the_first_thing_to_look_at(
    monkeypatch: pytest.MonkeyPatch, call: tuple[str, str | None, str | None], value: str, hint: str
) -> None:
    monkeypatch.setenv("LIVE_KEY", value)
    assert mend(*call) == hint
