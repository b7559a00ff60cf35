"""A client for the gateway that libraries are given in place of their own: no retries, no cache, and an end to fruitless calls."""

import http.client
import json
from urllib.parse import urlsplit

from tracebench_client import BudgetExhausted

MOST_FAILURES = 8
"""Calls in a row that may fail; then the model is taken to be gone. The gateway has tried each of them several times."""
PAYMENT_REQUIRED = 402
OK = 200


class ModelError(Exception):
    """One call failed."""


class ModelGone(BaseException):
    """Call after call failed; no `except Exception` of a library goes on against it."""


class Model:
    """Asks the chat model of the role `optimizer`; any thread may use it."""

    def __init__(self, endpoint, **sampling):
        self.name = endpoint.model
        self.sampling = sampling
        self._url = urlsplit(endpoint.base_url)
        self._key = endpoint.api_key
        self._failures = 0

    def ask(self, messages, **sampling):
        """Return the texts of the answers, as many as `n` says.

        Raises:
            BudgetExhausted: when a cap is reached.
            ModelError: when this call failed.
            ModelGone: when too many calls in a row did.
        """
        return [choice["message"].get("content") or "" for choice in self.complete(messages, **sampling)["choices"]]

    def complete(self, messages, **sampling):
        """Return the whole answer, in the shape of OpenAI's API; see `ask`."""
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        given = {k: v for k, v in {**self.sampling, **sampling}.items() if v is not None}
        try:
            status, answer = self._post({"model": self.name, "messages": messages, **given})
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._fail(f"the gateway does not answer: {error}")
        if status == PAYMENT_REQUIRED:
            raise BudgetExhausted(*refused(answer))
        if status != OK or not answer.get("choices"):
            self._fail(f"status {status}: {json.dumps(answer)[:500]}")
        self._failures = 0
        return answer

    def _fail(self, words):
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            raise ModelGone(f"{self._failures} calls in a row failed; the last one: {words}")
        raise ModelError(words)

    def _post(self, body):
        connection = http.client.HTTPConnection(
            self._url.hostname, self._url.port
        )  # one that is kept is closed meanwhile
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        try:
            connection.request("POST", f"{self._url.path}/chat/completions", json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"{}")
        finally:
            connection.close()


def refused(answer):
    """Return axis and scope of the cap that a refusal names."""
    error = answer.get("error", {}) if isinstance(answer, dict) else {}
    cap = error.get("tracebench", {})
    return cap.get("axis", "llm_calls"), cap.get("scope", "job")
