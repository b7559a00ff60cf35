"""What exceptions of litellm mean: whether it is asked again, after how long, and what of it is charged."""

from __future__ import annotations

from email.utils import formatdate
from time import time
from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_gateway.server.providers.failures import as_provider_error, retry_after_seconds


def raised(name: str, text: str = "it said so", *, base: str = "Exception", **fields: Any) -> Exception:
    """Return an exception of a class that is called so, below one that is called as litellm's base is."""
    above = Exception if base == "Exception" else type(base, (Exception,), {})
    error: Exception = type(name, (above,), fields)(text)
    return error


KINDS = [
    ("Timeout", "timeout"),
    ("APITimeoutError", "timeout"),
    ("RateLimitError", "rate_limited"),
    ("AuthenticationError", "auth"),
    ("PermissionDeniedError", "auth"),
    ("InternalServerError", "server"),
    ("ServiceUnavailableError", "server"),
    ("BadGatewayError", "server"),
    ("BadRequestError", "request"),
    ("NotFoundError", "request"),
    ("UnprocessableEntityError", "request"),
    ("APIResponseValidationError", "malformed"),
    ("JSONDecodeError", "malformed"),
    ("APIConnectionError", "refused"),
    ("ConnectError", "refused"),
    ("RemoteProtocolError", "refused"),
    ("ReadError", "refused"),
    ("SomethingNew", "malformed"),
]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_a_class_of_litellm_or_one_below_it_has_a_kind(name: str, kind: str) -> None:
    for error in (raised(name), raised("Below", base=name)):
        told = as_provider_error(error)
        assert (told.kind, told.status_code, told.retry_after, told.served) == (kind, None, None, None)
        assert str(told) == f"{type(error).__name__}: it said so"


@pytest.mark.parametrize(
    ("name", "text", "kind", "served"),
    [
        ("InternalServerError", "Empty or invalid response from it", "malformed", None),
        ("APIConnectionError", "Expecting value: line 1", "malformed", None),
        ("InternalServerError", "Expecting ',' delimiter: line 1", "malformed", ""),
        ("InternalServerError", "Unterminated string starting at", "malformed", ""),
        ("InternalServerError", "Connection error.", "refused", None),
        ("InternalServerError", "Cannot connect to host", "refused", None),
        ("ServiceUnavailableError", "Server disconnected", "refused", None),
        ("BadGatewayError", "Connection reset by peer", "refused", None),
        ("BadRequestError", "Connection error.", "request", None),
        ("RateLimitError", "Unterminated string", "rate_limited", None),
        ("JSONDecodeError", "Unterminated string", "malformed", ""),
    ],
)
def test_words_tell_what_classes_do_not(name: str, text: str, kind: str, served: str | None) -> None:
    told = as_provider_error(raised(name, text))
    assert (told.kind, told.served) == (kind, served)


def test_it_says_where_and_at_most_2000_characters() -> None:
    told = as_provider_error(raised("Timeout", "x" * 3000, status_code=408), base_url="http://here/v1")
    assert str(told).startswith("at `http://here/v1`: Timeout: xxx")
    assert len(str(told)) == 2000
    assert told.status_code == 408


def test_a_package_that_is_not_there_is_not_asked_again() -> None:
    told = as_provider_error(raised("APIConnectionError", "No module named 'boto3.session'"), base_url="http://here")
    assert told.kind == "auth"
    assert str(told).startswith("litellm takes the package `boto3.session` for this model, and it is not installed. ")


@pytest.mark.parametrize(
    ("value", "seconds"), [(None, None), ("", None), ("0", 0), ("2.5", 2.5), ("-3", 0), ("soon", None)]
)
def test_a_wait_is_told_in_seconds(value: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(value) == seconds


def test_a_wait_is_told_as_a_date() -> None:
    later, gone = retry_after_seconds(formatdate(time() + 100)), retry_after_seconds(formatdate(time() - 100))
    assert later is not None
    assert 90 < later <= 100
    assert gone == 0


def test_the_wait_is_litellms_before_the_responses() -> None:
    response = SimpleNamespace(headers={"retry-after": "7"})
    assert as_provider_error(raised("RateLimitError", response=response)).retry_after == 7
    own = raised("RateLimitError", response=response, litellm_response_headers={"retry-after": "9"})
    assert as_provider_error(own).retry_after == 9
