"""Notices that a program asks for nothing: it is said on the screen after a while, and ends the program after a longer one."""

from __future__ import annotations

import sys
import time

from tracebench_core.contracts import Problem

TOLD_AFTER = 60.0
"""Seconds without a model call and an evaluation after which it is said."""


class Silence:
    """Watches one program of a job by what the job has used."""

    def __init__(self, problem: Problem, name: str, *, limit: float | None) -> None:
        """`limit`: seconds after which the program is to be ended; None for never."""
        self._problem = problem
        self._name = name
        self._limit = limit
        self._told_after = TOLD_AFTER if limit is None else min(TOLD_AFTER, limit / 2)
        self._last = self._amounts()
        self._since = time.monotonic()
        self._is_told = False
        self.words = ""
        """Why the program is to be ended; empty while it is not."""

    def look(self) -> bool:
        """Look, and tell whether the program is to be ended."""
        now, amounts = time.monotonic(), self._amounts()
        if amounts != self._last:
            self._last, self._since = amounts, now
            if self._is_told:
                self._is_told = False
                self._problem.activity("")
            return False
        quiet = now - self._since
        if self._limit is not None and quiet >= self._limit:
            self.words = f"{self._what(self._limit)}, and was ended"
        elif quiet >= self._told_after and not self._is_told:
            self._is_told = True
            words = f"{self._what(self._told_after)}{self._until()}"
            self._problem.activity(words, notice=True)
            print(f"trace-bench: {words}", file=sys.stderr, flush=True)  # noqa: T201 - the job's log
        return bool(self.words)

    def _what(self, seconds: float) -> str:
        calls, evaluations = self._last
        if calls or evaluations:
            return f"`{self._name}` has had no answer of a model, and has evaluated nothing, for {seconds:g} s"
        return f"`{self._name}` has asked no model and evaluated nothing in its first {seconds:g} s"

    def _until(self) -> str:
        return "" if self._limit is None else f"; it is ended after {self._limit:g} s"

    def _amounts(self) -> tuple[int, int]:
        used = self._problem.budget.used()
        return used.llm_calls, used.evaluations
