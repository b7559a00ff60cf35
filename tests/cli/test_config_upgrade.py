"""`config upgrade`: an older config, or one of promptfoo, as one of today, and what became of each of its lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from tests.cli.conftest import Cli

from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_engine.api.installed.upgrading import former_names
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.matrix.settings import known_names

OLD = """# as it was written for an earlier bench
runs_root: runs
mode: stub
seed: 123
n-concurrent: 2
api_key: hunter2OfMine
tasks:
  - key: internal:numeric_param
  - opentrace_greeting
trainers:
  - name: DSPyCOPROTrainer
    params:
      breadth: 2
      num_trials: 3
      breadht: 4
  - id: PrioritySearch
    optimizer: OPROv2
    params_variants:
      - {ps_steps: 1, threads: 2}
      - {ps_steps: 2}
    guide: null
"""

PROMPTFOO = """description: capitals
providers:
  - openai:chat:gpt-4o-mini
  - id: anthropic:messages:claude-3
    config: {temperature: 0, max_tokens: 50, apiKey: hunter2OfMine, tools: []}
  - exec:./mine.sh
prompts: ["Where is {{x}}?"]
tests:
  - vars: {x: Paris}
evaluateOptions: {maxConcurrency: 4, repeat: 3, delay: 1}
sharing: false
"""


def told(stderr: str, line: int) -> str:
    return "\n".join(each for each in stderr.splitlines() if f" line {line}: " in each)


def test_an_older_config_is_one_of_today_and_each_change_is_told_at_its_line(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(OLD)
    done = cli("config", "upgrade", "old.yaml")

    assert done.returncode == 1, done.stderr  # the secret and a misspelt setting are the user's
    assert yaml.safe_load(done.stdout) == {
        "runs_dir": "runs",
        "mode": "stub",
        "seeds": [123],
        "max_workers": 2,
        "tasks": [{"id": "internal:numeric_param"}, {"id": "opto:opentrace_greeting"}],
        "trainers": [
            {"id": "DSPyTrainer", "params_variants": [{"dspy_optimizer": "copro", "breadth": 2, "breadht": 4}]},
            {
                "id": "PrioritySearch",
                "optimizer": "OPRO",
                "params_variants": [{"num_steps": 1, "num_threads": 2}, {"num_steps": 2}],
            },
        ],
    }
    for line, words in {
        2: "`runs_root` is `runs_dir` now.",
        4: "`seed` is `seeds` now.",
        5: "`n-concurrent` is `max_workers` now.",
        6: "! line 6: `api_key` is a secret",
        8: "`tasks[0].key` is `tasks[0].id` now.",
        9: "`opentrace_greeting` is called `opto:opentrace_greeting` now.",
        11: "`DSPyCOPROTrainer` is `DSPyTrainer` now: one trainer offers DSPy's optimizers",
        14: "is left out: the budget bounds the search",
        15: "`DSPyTrainer` has no such setting. Did you mean `breadth`?",
        17: "`OPROv2` is `OPRO` now",
        19: "is `num_steps` now.",
        20: "is `num_steps` now.",
        21: "is empty, which is the default, and left out.",
    }.items():
        assert words in told(done.stderr, line), (line, done.stderr)
    assert "hunter2" not in done.stdout + done.stderr
    assert not told(done.stderr, 3)


def test_what_it_wrote_validates_and_stays_as_it_is_the_second_time(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(OLD.replace("api_key: hunter2OfMine\n", "").replace("      breadht: 4\n", ""))
    done = cli("config", "upgrade", "old.yaml", "-o", "new.yaml")
    assert done.returncode == 0, done.stderr
    assert "trace-bench validate --config new.yaml" in done.stderr

    assert cli("validate", "--config", "new.yaml").returncode == 0
    again = cli("config", "upgrade", "new.yaml", "--json")
    written = (tmp_path / "new.yaml").read_text()
    document = json.loads(again.stdout)
    assert document["config"] == written
    assert {field["words"] for field in document["fields"]} == {""}
    assert len(document["fields"]) == len([line for line in written.splitlines() if not line.endswith(":")])

    refused = cli("config", "upgrade", "old.yaml", "-o", "new.yaml")
    assert refused.returncode == 1
    assert "hint: trace-bench config upgrade old.yaml -o new-new.yaml" in refused.stderr
    assert (tmp_path / "new.yaml").read_text() == written


def test_what_is_wrong_stands_at_its_place_and_no_secret_is_told(cli: Cli, tmp_path: Path) -> None:
    text = "tasks: [3, nothing:here]\ntrainers:\n- id: NoOp\n  params_variants: [3, {b: 1}]\nllm: {api_key:hunter2}\n"
    (tmp_path / "old.yaml").write_text(text)
    done = cli("config", "upgrade", "old.yaml", "--json")
    assert done.returncode == 1
    assert "hunter2" not in done.stdout + done.stderr
    said = {row["field"]: row["words"] for row in json.loads(done.stdout)["fields"] if row["words"]}
    assert "No plugin provides the suite `nothing`" in said["tasks[1]"]
    assert "`NoOp` has no such setting" in said["trainers[0].params_variants[1].b"]
    assert yaml.safe_load(json.loads(done.stdout)["config"])["trainers"][0]["params_variants"] == [3, {"b": 1}]


def test_a_suite_that_lacks_its_data_is_told_as_such(cli: Cli, tmp_path: Path) -> None:
    tasks = "tasks:\n- internal:numeric_param\n- veribench:binary_search\n"
    (tmp_path / "old.yaml").write_text(f"{tasks}trainers: [NoOp]\n")
    done = cli("config", "upgrade", "old.yaml", env={"VERIBENCH_ROOT": ""})
    assert done.returncode == 1
    assert "! line 3: `tasks[1]` cannot be looked up here: `veribench` needs: env `VERIBENCH_ROOT`" in done.stderr
    assert yaml.safe_load(done.stdout)["tasks"][1] == {"id": "veribench:binary_search"}

    checked = cli("validate", "--config", "old.yaml", env={"VERIBENCH_ROOT": ""})
    assert checked.returncode == 2
    assert (
        "Task `veribench:binary_search` cannot be looked up here: `veribench` needs: env `VERIBENCH_ROOT`"
        in checked.stderr
    )


def test_a_name_of_today_that_nobody_offers_is_the_users_to_mend(cli: Cli, tmp_path: Path) -> None:
    """What a plugin says of earlier names may name what is gone, too, or another plugin's that is not here."""
    site = tmp_path / "site/acme"
    site.mkdir(parents=True)
    (site / "__init__.py").write_text("")
    rows = [
        {"kind": "trainer", "name": "OldTrainer", "now": "NoSuchTrainer", "settings": {"a": 1}, "why": "it moved."},
        {"kind": "task", "name": "acme:old", "now": "acme:new", "why": "it moved."},
        {"kind": "optimizer", "name": "OldOne", "now": "NoSuchOne", "why": "it moved."},
        {"kind": "setting", "of": "RandomSearch", "name": "old", "now": "nosuch", "why": "it moved."},
    ]
    (site / "formerly.json").write_text(json.dumps(rows))
    info = tmp_path / "site/acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tracebench]\nacme = acme\n")
    old = "tasks: [acme:old]\ntrainers:\n- id: OldTrainer\n- {id: RandomSearch, optimizer: OldOne, params_variants: [{old: 3}]}\n"
    (tmp_path / "old.yaml").write_text(old)

    done = cli("config", "upgrade", "old.yaml", env={"PYTHONPATH": str(tmp_path / "site")})

    assert done.returncode == 1, done.stderr
    for line, words in {
        1: "`acme:old` is `acme:new` now, which cannot be used here: ",
        3: "`OldTrainer` is `NoSuchTrainer` now, which cannot be used here: No plugin offers a trainer `NoSuchTrainer`",
        4: "`old` is `nosuch` now, which `RandomSearch` does not have here.",
    }.items():
        assert words in told(done.stderr, line), (line, done.stderr)
    assert "`OldOne` is `NoSuchOne` now, which cannot be used here: " in told(done.stderr, 4)
    assert [t["id"] for t in yaml.safe_load(done.stdout)["trainers"]] == ["OldTrainer", "RandomSearch"]


def test_what_installed_plugins_say_of_earlier_names_is_to_be_had() -> None:
    host = open_host()
    found = former_names(host)
    assert ("trainer", "", "DSPyCOPROTrainer") in found
    for (kind, owner, name), former in found.items():
        if former.now is None:
            continue
        if kind == "setting":
            assert former.now in (known_names(host.component("trainer", owner)) or ()), name
        elif kind == "task":
            assert resolve_task_ids(host, former.now), name
        else:
            assert host.component(kind, former.now), name


def test_of_promptfoo_neither_a_secret_nor_a_number_without_sense_is_taken_over(cli: Cli, tmp_path: Path) -> None:
    options = "evaluateOptions: {repeat: 40000000, maxConcurrency: true}\n"
    provider = "providers: [{id: 'openai:gpt-4o', config: {apiBaseUrl: sk-proj-0123456789abcdefghijklmn}}]\n"
    (tmp_path / "old.yaml").write_text(f"description: sk-proj-0123456789abcdefghijklmn\n{provider}tests: []\n{options}")
    done = cli("config", "upgrade", "old.yaml")
    assert done.returncode == 1
    assert "0123456789" not in done.stdout + done.stderr
    assert yaml.safe_load(done.stdout) == {
        "tasks": [],
        "mode": "real",
        "llm_variants": [{"model": "openai/gpt-4o"}],
    }
    assert done.stderr.count("it is no number from 1 to 1,000") == 2


def test_an_address_with_a_password_is_told_as_a_secret_and_not_repeated(cli: Cli, tmp_path: Path) -> None:
    config = "{apiBaseUrl: 'https://joe:hunter2OfMine@proxy.example/v1', temperature: 0}"
    (tmp_path / "old.yaml").write_text(f"providers: [{{id: 'openai:gpt-4o', config: {config}}}]\ntests: []\n")
    done = cli("config", "upgrade", "old.yaml")
    assert done.returncode == 1
    assert "! line 1: `providers[0]`" in done.stderr
    assert "`apiBaseUrl` holds what looks like a secret" in done.stderr
    assert "hunter2" not in done.stdout + done.stderr
    assert yaml.safe_load(done.stdout)["llm_variants"] == [{"model": "openai/gpt-4o", "temperature": 0}]

    own = "llm: {model: m, base_url: 'https://joe:hunter2OfMine@proxy.example/v1'}\ntasks: [internal:numeric_param]\n"
    (tmp_path / "own.yaml").write_text(own)
    done = cli("validate", "--config", "own.yaml")
    assert done.returncode == 2
    assert "`own.yaml`, line 1: `llm.base_url` holds what looks like a secret" in done.stderr
    assert "hunter2" not in done.stdout + done.stderr


def test_models_of_promptfoo_are_taken_over_and_its_tests_are_a_task_of_the_users(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "promptfooconfig.yaml").write_text(PROMPTFOO)
    done = cli("config", "upgrade", "promptfooconfig.yaml")

    assert done.returncode == 1
    assert yaml.safe_load(done.stdout) == {
        "tasks": [],
        "mode": "real",
        "llm_variants": [
            {"model": "openai/gpt-4o-mini"},
            {"model": "anthropic/claude-3", "temperature": 0, "max_tokens": 50},
        ],
        "max_workers": 4,
        "seeds": [1, 2, 3],
    }
    assert "left out: `tools`" in told(done.stderr, 4)
    assert "`apiKey` holds what looks like a secret: left out; export it as a variable" in told(done.stderr, 4)
    assert "! line 6: `providers[2]` is a program or an address" in done.stderr
    assert "trace-bench init suite NAME" in told(done.stderr, 7)
    assert "trace-bench init suite NAME" in told(done.stderr, 8)
    assert "hunter2" not in done.stdout + done.stderr
    (tmp_path / "new.yaml").write_text(done.stdout.replace("tasks: []", "tasks: [internal:numeric_param]"))
    assert cli("config", "show", "new.yaml").returncode == 0


@pytest.mark.parametrize(
    "text", ["- a\n", "a: [1\n", "tasks: 3\ntrainers: {a: 1}\nllm: [x]\n", "providers: 3\nprompts: x\n", ""]
)
def test_what_is_no_config_is_told_in_words(cli: Cli, tmp_path: Path, text: str) -> None:
    (tmp_path / "old.yaml").write_text(text)
    done = cli("config", "upgrade", "old.yaml")
    assert done.returncode in {0, 1, 2}
    assert "Traceback" not in done.stderr
    assert done.returncode == 0 or "! " in done.stderr or "error:" in done.stderr
