"""Which settings of trainers may stand above the list is their plugin's business."""

from __future__ import annotations

import sys

import pytest

from tracebench_core.config import parse_config
from tracebench_core.config.canonical import knob_prefixes
from tracebench_core.errors import ConfigError


def test_a_prefix_that_no_installed_plugin_owns_is_an_unknown_field(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"tasks": ["a:b"], "trainers": ["X"], "ps_steps": 3}
    assert parse_config(known).trainer_kwargs == {"ps_steps": 3}

    monkeypatch.setattr(sys, "path", [p for p in sys.path if "site-packages" not in p and "knobs" not in p])
    knob_prefixes.cache_clear()
    try:
        with pytest.raises(ConfigError, match="`ps_steps` is not a known field"):
            parse_config(known)
    finally:
        monkeypatch.undo()
        knob_prefixes.cache_clear()
