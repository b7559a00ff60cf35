"""A Kimina Lean server: `POST /verify` with `{"codes": [{"custom_id", "proof"}]}`."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass

from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_veribench.diagnostics import Diagnostic
from tracebench_veribench.lean.checkers.messages import read_message
from tracebench_veribench.lean.checkers.protocol import CheckTimeout

_SLACK = 30.0
"""Seconds that a check may wait in the server's queue."""


@dataclass(frozen=True, slots=True)
class Kimina:
    """The server checks in its own sandbox; only text travels."""

    url: str
    seconds: float

    def check(self, text: str, sandbox: Sandbox) -> Sequence[Diagnostic]:
        """See `LeanChecker.check`."""
        body = {
            "codes": [{"custom_id": "candidate", "proof": text}],
            "timeout": int(self.seconds),
            "infotree_type": "original",
        }
        request = urllib.request.Request(  # noqa: S310 - the address is the user's own
            f"{self.url.rstrip('/')}/verify", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=self.seconds + _SLACK) as answer:  # noqa: S310
                said = json.load(answer)
            result = said["results"][0]
        except (OSError, urllib.error.URLError) as err:
            raise NotMeasured(f"the Kimina server at {self.url} cannot be asked: {err}") from err
        except (ValueError, KeyError, IndexError, TypeError) as err:
            raise NotMeasured(f"the Kimina server at {self.url} answered with something else") from err
        if result.get("error"):
            if "timed out" in str(result["error"]).lower():
                raise CheckTimeout(f"Lean did not finish within {self.seconds:g} s")
            raise NotMeasured(f"the Kimina server could not check the file: {str(result['error'])[:300]}")
        return [read_message(m) for m in (result.get("response") or {}).get("messages", [])]
