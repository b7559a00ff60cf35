"""Keys that carry their account, and variables that hold keys."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tracebench_core.specs import Budget, LLMConfig, ModelIdentity
from tracebench_gateway.credentials import redact, without_secrets
from tracebench_gateway.tokens import LONGEST_TOKEN, Claims, sign, verify

SECRET = b"0" * 32
CLAIMS = Claims(
    job_id="abc",
    attempt="1",
    role="agent",
    phase="training",
    seed=7,
    budget=Budget(llm_calls=3, usd=0.5),
    model=ModelIdentity(provider="stub", model="stub"),
)


@given(seed=st.integers(0, 2**63 - 1), job_id=st.text(min_size=1, max_size=40), calls=st.integers(0, 10**9))
def test_claims_survive_the_journey(seed: int, job_id: str, calls: int) -> None:
    claims = CLAIMS.model_copy(update={"seed": seed, "job_id": job_id, "budget": Budget(llm_calls=calls)})
    assert verify(sign(claims, secret=SECRET), secret=SECRET) == claims


def test_a_forged_or_foreign_key_has_no_claims() -> None:
    token = sign(CLAIMS, secret=SECRET)
    body, _, signature = token.partition(".")
    other = sign(CLAIMS.model_copy(update={"budget": Budget()}), secret=b"1" * 32)
    assert verify(token, secret=SECRET) == CLAIMS
    for forged in (other, f"{other.partition('.')[0]}.{signature}", f"{body}.", body, "", "tb-.", "Bearer é"):
        assert verify(forged, secret=SECRET) is None


def test_hints_that_make_a_key_too_long_are_left_out() -> None:
    hints = {"parameters": [{"name": str(i), "text": f"{hash((i, 'x')):x}" * 4} for i in range(2000)]}
    token = sign(CLAIMS.model_copy(update={"hints": hints}), secret=SECRET)
    assert len(token) <= LONGEST_TOKEN
    assert verify(token, secret=SECRET) == CLAIMS


def test_other_processes_get_no_key_by_name_or_by_value() -> None:
    key = "sk-0123456789abcdef"
    environ = {"PATH": "/bin", "OPENAI_API_KEY": key, "MY_COPY": key, "ODD_NAME": "odd-value-1", "TOKENS": "5"}
    assert without_secrets(environ, LLMConfig(api_key_env="ODD_NAME")) == {"PATH": "/bin", "TOKENS": "5"}


def test_redaction_is_by_value_longest_first_and_spares_short_ones() -> None:
    text = "prompt_tokens: 5, key secret-12345-more and secret-12345"
    assert redact(text, ["secret-12345", "secret-12345-more", "5"]) == "prompt_tokens: 5, key [redacted] and [redacted]"
