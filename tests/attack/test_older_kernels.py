"""Kernels 5.13 to 6.11 have Landlock without scopes for signals and abstract sockets: the filter has to be enough."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from tracebench_core.errors import MissingRequirementError
from tracebench_core.specs import Limits
from tracebench_sandbox import launch, open_sandbox
from tracebench_sandbox.host import level

HERE = Path(__file__).parent
CANDIDATES = [
    *runpy.run_path(str(HERE / "candidates.py"))["CANDIDATES"],
    *runpy.run_path(str(HERE / "escapes.py"))["ESCAPES"],
]
BY_SIGNAL_OR_SOCKET = (
    "owns a signal", "kills", "limits its parent", "connects by Unix socket", "stops its parent", "holds its parent",
    "types into", "slows", "listens on", "sends descriptors", "reads a key file", "writes outside", "deletes outside",
)  # fmt: skip


pytestmark = pytest.mark.skipif(level() != "strong", reason="this host has no Landlock or no seccomp")


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Start templates that are told of an older ABI."""

    def tell(version: int) -> None:
        first = "from tracebench_sandbox.template.server"
        patch = f"from tracebench_sandbox.kernel import landlock; landlock.abi = lambda: {version}; {first}"
        monkeypatch.setattr(launch, "_PROGRAM", launch._PROGRAM.replace(first, patch))

    return tell


def test_a_kernel_without_landlock_is_told_as_one(older: Callable[[int], None]) -> None:
    older(0)

    with pytest.raises(MissingRequirementError), open_sandbox(require="strong") as sandbox:
        sandbox.call("def f(): pass", "f")


@pytest.mark.parametrize("version", [1, 5])
def test_an_abi_without_scopes_is_made_up_for_by_the_filter(
    version: int, older: Callable[[int], None], tmp_path: Path
) -> None:
    older(version)
    secret, outside = tmp_path / "key", tmp_path / "outside"
    secret.write_text("sk-secret")
    outside.mkdir()
    chosen = [c for c in CANDIDATES if c.name.startswith(BY_SIGNAL_OR_SOCKET)]
    assert len(chosen) > 12

    with open_sandbox(preload=["numpy"], require="strong") as sandbox:
        assert sandbox.call("def f():\n    return 1\n", "f").value == 1
        before = sandbox.template_pid
        for hostile in chosen:
            source = hostile.source.replace("{secret}", str(secret)).replace("{outside}", str(outside))
            outcome = sandbox.call(source, "attack", limits=Limits(seconds=10.0, memory_mb=512, file_mb=16))
            assert outcome.status in hostile.expected, (hostile.name, outcome)
            assert "sk-secret" not in repr(outcome)
        assert sandbox.call("def f(x):\n    return x + 1\n", "f", 1).value == 2
        assert sandbox.template_pid == before
    assert list(outside.iterdir()) == []
