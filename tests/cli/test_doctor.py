"""`doctor`: every lack with the command that mends it, and exit 3 when a config needs it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.llm.scripted import Scripted
from tests.whole import HEAVY, SOAK, one_in

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]
CORE_ONLY = {"TRACEBENCH_PLUGINS": ""}


def rows(done: CompletedProcess[str]) -> dict[str, dict[str, object]]:
    return {row["name"]: row for row in json.loads(done.stdout)["checks"]}


QUIET = """
from tracebench_core.hookspecs import hookimpl
from pydantic import BaseModel
from tracebench_core.specs import TaskSpec

class Options(BaseModel):
    agent: str = "chatty"

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="ask", title="Ask", loader="quiet:Ask", uses_model=True, modelless={"agent": ("nop",)}, options="quiet:Options")]
"""


def test_without_a_config_nothing_but_the_machine_is_needed(cli: Cli) -> None:
    done = cli("doctor", "--json", env=CORE_ONLY)

    found = rows(done)
    assert done.returncode == 0, done.stdout
    assert {"Python", "isolation", "disk", "provider keys", "GPU", "Docker"} <= set(found)
    assert all(row["hint"] for row in found.values() if not row["ok"])


def test_text_shows_the_mending_command_under_each_lack(cli: Cli) -> None:
    lines = cli("doctor", env={**CORE_ONLY, "PATH": "/nowhere"}).stdout.splitlines()

    docker = next(i for i, line in enumerate(lines) if " Docker " in line)
    assert lines[docker].startswith("-")
    assert "docs.docker.com" in lines[docker + 1]


def test_the_commands_that_plugins_need_are_looked_for_as_the_plugins_do(cli: Cli, plugin_path: Install) -> None:
    plugin = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Requirement, TaskSpec
def need(name): return Requirement(kind="command", name=name, hint="apt-get install it")
@hookimpl
def tracebench_tasks():
    return [TaskSpec(name=n, title=n, loader="x:y", requires=(need("/bin/sh"), need("no-such-tool"))) for n in ("a", "b")]
"""
    env = plugin_path("needy", plugin, group="tracebench", entry="needy", target="needy")

    found = rows(cli("doctor", "--json", env={**env, "TRACEBENCH_PLUGINS": "needy"}))

    assert (found["command sh"]["ok"], found["command sh"]["value"]) == (True, "/bin/sh, for needy")
    assert (found["command no-such-tool"]["ok"], found["command no-such-tool"]["hint"]) == (False, "apt-get install it")


def test_keys_are_told_as_set_and_never_shown(cli: Cli) -> None:
    done = cli("doctor", env={**CORE_ONLY, "GROQ_API_KEY": "gsk-very-secret"})

    assert "set: GROQ_API_KEY" in done.stdout
    assert "gsk-very-secret" not in done.stdout + done.stderr


def test_what_a_real_config_needs_and_lacks_makes_exit_3(cli: Cli, tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
    (tmp_path / "c.yaml").write_text(
        f"mode: real\ntasks: [internal:numeric_parm]\ntrainers: [NoOp]\nllm: {{model: gpt-x, base_url: '{url}', api_key_env: MY_KEY}}\n"
    )

    done = cli("doctor", "--config", "c.yaml", "--json", env=CORE_ONLY)
    found = rows(done)

    assert done.returncode == 3
    assert found["key MY_KEY"]["ok"] is False
    assert found["key MY_KEY"]["hint"] == "export MY_KEY=…"
    assert found[f"endpoint {url}"]["ok"] is False
    assert "Did you mean `internal:numeric_param`?" in str(found["task internal:numeric_parm"]["value"])
    assert "Missing: " in done.stderr


def test_what_is_there_is_ok(cli: Cli, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        (tmp_path / "c.yaml").write_text(
            f"mode: real\ntasks: [internal:all]\ntrainers: [BestOfN]\nllm: {{base_url: '{url}', api_key_env: MY_KEY}}\n"
        )

        done = cli("doctor", "--config", "c.yaml", "--json", env={**CORE_ONLY, "MY_KEY": "k"})

    assert done.returncode == 0, done.stdout
    assert rows(done)[f"endpoint {url}"]["value"] == "takes connections"


def test_no_key_is_asked_for_where_no_model_is_asked(cli: Cli, plugin_path: Install, tmp_path: Path) -> None:
    """Task `ask` asks a model unless its option `agent` says otherwise, as agents without a model do."""
    env = plugin_path("quiet", QUIET, group="tracebench", entry="quiet", target="quiet")
    (tmp_path / "c.yaml").write_text("""mode: real
llm: {provider: openai, model: gpt-x}
trainers: [NoOp]
tasks: [{id: "quiet:ask", eval_kwargs: {agent: nop}}]
""")
    (tmp_path / "d.yaml").write_text(
        (tmp_path / "c.yaml").read_text(encoding="utf-8").replace("nop", "chatty"), encoding="utf-8"
    )
    without = {name: value for name, value in env.items() if name != "OPENAI_API_KEY"}

    quiet, chatty = (rows(cli("doctor", "--config", name, "--json", env=without)) for name in ("c.yaml", "d.yaml"))

    assert "key OPENAI_API_KEY" not in quiet
    assert quiet["models"]["value"] == "no task and no trainer of this config asks one"
    assert chatty["key OPENAI_API_KEY"]["ok"] is False


@pytest.mark.parametrize(
    ("path", "ok", "words"),
    [
        pytest.param("/v1", True, "takes connections", marks=HEAVY),
        ("", True, "asked at {host}/v1"),
        ("/there", False, "one does at {host}/there/v1"),
    ],
)
def test_a_server_whose_address_is_not_whole_is_tried_and_told(
    cli: Cli, tmp_path: Path, path: str, ok: bool, words: str
) -> None:
    with Scripted({"object": "list", "data": []}, under=f"{path.removesuffix('/v1')}/v1") as server:
        host = server.base_url.removesuffix("/v1")
        (tmp_path / "c.yaml").write_text(
            f"mode: real\ntasks: [internal:numeric_param]\nllm: {{model: fake, base_url: '{host}{path}'}}\n"
        )
        found = rows(cli("doctor", "--config", "c.yaml", "--json", env=CORE_ONLY))[f"endpoint {host}{path}"]
        checked = cli("validate", "--config", "c.yaml", env=CORE_ONLY)
    assert found["ok"] is ok
    assert words.format(host=host) in str(found["value"])
    assert found["hint"] == ("" if ok else f"base_url: {host}/there/v1")
    assert (f"[OK] base_url {host}{path}" in checked.stdout) is (path != "/v1")


NEEDY = "mode: real\ntasks: [internal:numeric_param]\nllm: {model: azure/deployed}\n"


@HEAVY
def test_what_a_provider_needs_is_told_by_doctor_and_by_validate_alike(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(NEEDY)
    looked, checked = (cli(verb, "--config", "c.yaml", env=CORE_ONLY) for verb in ("doctor", "validate"))
    assert (looked.returncode, checked.returncode) == (3, 0)
    for words in ("`AZURE_API_KEY` for provider `azure`", "`azure` of model `deployed` needs `AZURE_API_VERSION`"):
        assert words in looked.stdout
        assert words in checked.stdout
    env = {**CORE_ONLY, "AZURE_API_KEY": "k", "AZURE_API_BASE": "https://x", "AZURE_API_VERSION": "2026-01-01"}
    assert "[WARN]" not in cli("validate", "--config", "c.yaml", env=env).stdout
    strict = cli("validate", "--config", "c.yaml", "--strict", env=CORE_ONLY)
    assert strict.returncode == 1
    assert strict.stdout.count("AZURE_API_VERSION") <= 1


@pytest.mark.parametrize(  # to import litellm takes 4 seconds of a processor
    ("given", "lacking"),
    [
        pytest.param({"AWS_ACCESS_KEY_ID": "AKIA"}, "AWS_SECRET_ACCESS_KEY", marks=HEAVY),
        pytest.param({"AWS_PROFILE": "me"}, "", marks=SOAK),
        pytest.param({"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "s"}, "", marks=SOAK),
    ],
)
def test_litellm_is_asked_too_where_it_is_installed(
    cli: Cli, tmp_path: Path, given: dict[str, str], lacking: str
) -> None:
    if find_spec("litellm") is None:
        pytest.skip("the extra `litellm` is not installed")
    (tmp_path / "c.yaml").write_text(NEEDY.replace("azure/deployed", "bedrock/x, region: r"))
    done = cli("validate", "--config", "c.yaml", env={**CORE_ONLY, **given})
    assert done.returncode == 0
    assert (f"needs, as litellm says, `{lacking}`" in done.stdout) is bool(lacking)
    assert ("[WARN]" in done.stdout) is bool(lacking)


def test_a_broken_plugin_is_told(cli: Cli, plugin_path: Install) -> None:
    env = plugin_path("bad", "raise ImportError('no libfoo')", group="tracebench", entry="bad", target="bad")

    found = rows(cli("doctor", "--json", env={**env, "TRACEBENCH_PLUGINS": "bad"}))

    assert found["plugin bad"]["ok"] is False
    assert "no libfoo" in str(found["plugin bad"]["value"])


def test_who_installs_the_bench_by_an_extra_of_the_core_is_told(cli: Cli, tmp_path: Path) -> None:
    def installed(name: str, *requires: str, asked: bool) -> None:
        info = tmp_path / f"site/{name.replace('-', '_')}-0.1.0.dist-info"
        info.mkdir(parents=True)
        lines = [
            "Metadata-Version: 2.1",
            f"Name: {name}",
            "Version: 0.1.0",
            *(f"Requires-Dist: {each}" for each in requires),
        ]
        (info / "METADATA").write_text("\n".join(lines) + "\n")
        if asked:
            (info / "REQUESTED").touch()

    def told() -> list[str]:
        done = cli("doctor", "--json", env={**CORE_ONLY, "PYTHONPATH": str(tmp_path / "site")})
        return [row["value"] for row in json.loads(done.stdout)["checks"] if row["name"] == "extras of before"]

    assert told() == []
    installed("acme", "tracebench-core[ui]>=0.1,<0.2", asked=True)
    assert told() == ["acme requires tracebench-core[ui]"]


@pytest.mark.parametrize("broken", one_in(3, ["no METADATA", "no name", "no text", "lines that no standard allows"]))
def test_an_install_that_is_broken_does_not_keep_the_others_from_being_told(
    cli: Cli, tmp_path: Path, broken: str
) -> None:
    """Older packages say `foo>1.*`, and what pip had to leave half removed says nothing at all."""
    files = {
        "no METADATA": {"INSTALLER": b"pip\n"},
        "no name": {"METADATA": b"Metadata-Version: 2.1\nVersion: 0.1.0\nRequires-Dist: tracebench-core[ui]\n"},
        "no text": {"METADATA": b"Name: \xff\nRequires-Dist: tracebench-core[ui]\n"},
        "lines that no standard allows": {
            "METADATA": b"Name: broken\nRequires-Dist: foo>1.*\n"
            b"Requires-Dist: tracebench-core[ui]>=1.*\nRequires-Dist: TraceBench_Core[hf]\n"
        },
    }
    (tmp_path / "site/broken-0.1.0.dist-info").mkdir(parents=True)
    for name, content in files[broken].items():
        (tmp_path / "site/broken-0.1.0.dist-info" / name).write_bytes(content)
    (tmp_path / "site/acme-0.1.0.dist-info").mkdir()
    (tmp_path / "site/acme-0.1.0.dist-info/METADATA").write_text("Name: acme\nRequires-Dist: tracebench-core[ui]\n")

    done = cli("doctor", "--json", env={**CORE_ONLY, "PYTHONPATH": str(tmp_path / "site")})

    told = [row["value"] for row in json.loads(done.stdout)["checks"] if row["name"] == "extras of before"]
    of_broken = ["broken requires tracebench-core[hf]"] if "lines" in broken else []
    assert told == ["acme requires tracebench-core[ui]", *of_broken]


def test_an_extra_that_names_extras_of_others_lacks_what_they_lack(cli: Cli) -> None:
    found = rows(cli("doctor", "--json", env=CORE_ONLY))
    for extra, module in (("ui", "streamlit"), ("wandb", "wandb"), ("report", "altair")):
        assert (module in str(found[f"extra {extra}"]["value"])) is (find_spec(module) is None), found[f"extra {extra}"]


def folders(found: dict[str, dict[str, object]]) -> dict[str, object]:
    return {name.removeprefix("folder: "): row["ok"] for name, row in found.items() if name.startswith("folder")}


def test_a_folder_is_tried_for_what_runs_need_of_it_and_nothing_is_left(cli: Cli, tmp_path: Path) -> None:
    tried = ("doctor", "--runs-dir", str(tmp_path / "new"), "--json")
    done = cli(*tried, env=CORE_ONLY)
    assert folders(rows(done)) == dict.fromkeys(("flush", "rename", "locks", "new files", "appends", "clock"), True)
    assert [*(tmp_path / "new").iterdir()] == []
    (tmp_path / "file").touch()
    none = cli("doctor", "--runs-dir", str(tmp_path / "file"), "--json", env=CORE_ONLY)
    assert (none.returncode, folders(rows(none))) == (3, {"folder": False})


def test_a_folder_that_another_process_does_not_see_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracebench_engine.api import try_folder

    hidden = f'mount -t tmpfs none {tmp_path / "runs"} 2>/dev/null || exit 77; exec {sys.executable} "$@"'
    elsewhere = tmp_path / "python"
    elsewhere.write_text(f"#!/bin/sh\nexec unshare --mount sh -c '{hidden}' sh \"$@\"\n")
    elsewhere.chmod(0o700)
    (tmp_path / "runs").mkdir()
    able = subprocess.run([elsewhere, "-c", ""], check=False, capture_output=True)
    if able.returncode != 0:
        pytest.skip("mounts in a namespace of one's own are not allowed here")
    monkeypatch.setattr(sys, "executable", str(elsewhere))
    found = {row.name: row for row in try_folder(tmp_path / "runs")}
    told = {name.removeprefix("folder: "): row.ok for name, row in found.items()}
    assert told == {"flush": True, "rename": False, "locks": False, "new files": False, "appends": False, "clock": True}
    assert "lock (flock)" in found["folder: locks"].value
    assert [*(tmp_path / "runs").iterdir()] == []


@pytest.mark.parametrize(
    ("given", "words", "hint"),
    [
        (["--as", "candidate", "--config", "none.yaml"], "`--config` means nothing beside `--as`", "--as candidate"),
        (["--as", "a b", "--live"], "`--live` means nothing beside `--as`", "--as 'a b'"),
        (["--live", "--runs-dir", "r"], "`--runs-dir` means nothing beside `--live`", "--live --config FILE"),
        (["-o", "mode=real"], "`-o` means nothing without `--config`", ""),
    ],
)
def test_what_would_be_ignored_is_refused(cli: Cli, given: list[str], words: str, hint: str) -> None:
    done = cli("doctor", *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"error: {words}.\n  hint: trace-bench doctor {hint}".strip() in done.stderr
