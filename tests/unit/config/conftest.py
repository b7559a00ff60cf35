"""Two prefixes of trainer settings, owned by a plugin that is installed for these tests alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tracebench_engine.config.canonical import KNOB_GROUP, knob_prefixes


@pytest.fixture(scope="session", autouse=True)
def knobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    site = tmp_path_factory.mktemp("knobs")
    info = site / "fake_knobs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-knobs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{KNOB_GROUP}]\nps_ = knobs\ngepa_ = knobs\n")
    sys.path.insert(0, str(site))
    knob_prefixes.cache_clear()
    yield
    sys.path.remove(str(site))
    knob_prefixes.cache_clear()
