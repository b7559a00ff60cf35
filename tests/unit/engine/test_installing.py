"""One step of an installation: its last words are told where it fails."""

from __future__ import annotations

import sys

import pytest

from tracebench_core.errors import PluginError
from tracebench_engine.checks.pythons import LAST_WORDS, run_installer


@pytest.mark.parametrize("stream", ["stderr", "stdout"])
def test_a_step_that_fails_is_told_by_the_end_of_what_it_said(stream: str) -> None:
    says = f"import sys; print('first ' + 'x' * {LAST_WORDS} + ' no such package', file=sys.{stream}); sys.exit(2)"
    with pytest.raises(PluginError, match=r"an interpreter cannot be built: x+ no such package$") as caught:
        run_installer([sys.executable, "-c", says], "an interpreter")
    assert "first" not in str(caught.value)


def test_a_step_that_ends_well_says_nothing() -> None:
    run_installer([sys.executable, "-c", "print('done')"], "an interpreter")
