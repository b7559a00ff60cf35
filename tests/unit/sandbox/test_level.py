"""How strongly code is held follows from what the host offers, and both ways of asking say the same."""

from __future__ import annotations

import pytest

from tracebench_sandbox import host


@pytest.mark.parametrize(
    ("landlock_abi", "seccomp", "namespaces", "level"),
    [
        (5, True, True, "strong"),
        (1, True, False, "strong"),
        (0, True, True, "namespaces"),
        (5, False, True, "namespaces"),
        (0, True, False, "process"),
        (5, False, False, "process"),
        (0, False, False, "process"),
    ],
)
def test_the_level_is_the_best_that_the_host_offers(
    monkeypatch: pytest.MonkeyPatch, landlock_abi: int, *, seccomp: bool, namespaces: bool, level: str
) -> None:
    monkeypatch.setattr(host.landlock, "abi", lambda: landlock_abi)
    monkeypatch.setattr(host.seccomp, "available", lambda: seccomp)
    monkeypatch.setattr(host, "_has_namespaces", lambda: namespaces)

    assert host.level() == level
    report = host.isolation()
    assert report.level == level
    assert report.sentence.startswith(f"{level}: ")
    assert ("Landlock" in report.sentence, "seccomp" in report.sentence) == (landlock_abi > 0, seccomp)
