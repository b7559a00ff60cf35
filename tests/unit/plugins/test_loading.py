"""Loading plugins: one that hangs is cut off, hook calls can be seen, and what is missing comes with a command that installs it."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tracebench_core.checkout import checkout, from_checkout, is_here
from tracebench_core.errors import typed
from tracebench_core.plugins import PluginHost, discover
from tracebench_core.plugins.discovery import core_version
from tracebench_core.plugins.installing import install_entry_hint, install_hint

ROOT = Path(__file__).parents[3]


def write_plugin(site: Path, name: str, source: str) -> None:
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[tracebench]\n{name} = {name}\n")
    (site / f"{name}.py").write_text(source)


def test_an_import_that_hangs_is_cut_off_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plugin(tmp_path, "hangs_on_import", "import time\ntime.sleep(600)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TRACEBENCH_IMPORT_SECONDS", "0.2")
    handler = signal.getsignal(signal.SIGALRM)

    record = PluginHost(discover({"hangs_on_import"})).load("hangs_on_import")

    assert record.status == "failed"
    assert "cut off after 0.2 s" in record.error
    assert "hangs_on_import" not in sys.modules
    assert signal.getsignal(signal.SIGALRM) is handler


def test_hook_calls_are_written_where_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_plugin(
        tmp_path,
        "traced_hooks",
        "from tracebench_core.hookspecs import hookimpl\n@hookimpl\ndef tracebench_tasks(): return []\n",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TRACEBENCH_TRACE_HOOKS", "1")

    PluginHost(discover({"traced_hooks"})).load("traced_hooks")

    assert "hook tracebench_tasks() of traced_hooks: [[]]" in capsys.readouterr().err


def test_plugins_are_found_from_a_folder_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter that was told its program on the command line has the folder that it is in on its path, whether or not it is there."""
    there = discover().keys()
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    (tmp_path / "gone").rmdir()
    assert discover().keys() == there


def test_a_plugin_of_this_checkout_is_installed_from_it() -> None:
    hint = install_hint("llm4ad")

    here, elsewhere = (
        f"pip install -e {ROOT / 'plugins' / 'tracebench_llm4ad'}",
        'pip install "tracebench-engine[llm4ad]"',
    )
    assert hint == (elsewhere if checkout() is None else here)
    assert core_version() == "0" or install_hint("nobody-offers-this") == "trace-bench plugins"


def test_a_command_of_a_plugin_is_told_with_what_installs_it_whole() -> None:
    """The viewer's own folder alone would lack Streamlit, and no index need have the plugin."""
    alone = f"pip install -e {ROOT / 'plugins' / 'tracebench_viewer'}"  # where the bench, whose extra it is, is not here either
    whole = 'pip install "tracebench-engine[ui]"'
    assert install_entry_hint("tracebench.commands", "ui") == (whole if is_here("tracebench-engine") else alone)
    assert install_entry_hint("tracebench.commands", "no-plugin-has-this") is None
    assert install_entry_hint("tracebench.commands", "opto") is None  # it is installed, and brings no command
    if from_checkout("ui") is not None:  # else the bench is not installed from one
        assert from_checkout("ui") == f"-e '{ROOT / 'plugins' / 'tracebench_viewer'}[streamlit]'"
        assert f"-e '{ROOT / 'plugins' / 'tracebench_trackers'}[wandb]'" in typed(
            'pip install "tracebench-engine[wandb]"'
        )
    assert from_checkout("report") is None
    assert typed("pip install 'tracebench-engine[report]'").endswith("'tracebench-engine[report]'")


def test_without_a_checkout_a_plugin_is_an_extra_of_the_bench_or_one_of_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracebench_core.plugins.installing.checkout", lambda: None)

    extra = 'pip install "tracebench-engine[terminal-bench]"'
    assert install_hint("terminal_bench") == (extra if is_here("tracebench-engine") else "trace-bench plugins")
    assert install_hint("nobodys_own") == "trace-bench plugins"
