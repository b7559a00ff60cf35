"""A wrong config is told file, line, field and the nearest valid name, everything at once."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from benchmarks.broken_configs import PLACES

from tracebench_core.errors import ConfigError
from tracebench_engine.config import document, load_config, parse_config
from tracebench_engine.config.document import parse
from tracebench_engine.config.meant import elsewhere, meant


def complaint(tmp_path: Path, text: str, *overrides: str, name: str = "c.yaml") -> str:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides=overrides)
    return str(caught.value).replace(f"`{path}`", "FILE")


def test_every_problem_is_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = 'mode: sutb\nfail_fast: "false"\ntrainers:\n  - id: X\n    parms_variants: []\nrun_id: ../x\n'

    assert complaint(tmp_path, text).splitlines() == [
        "FILE, line 1: `mode` must be one of `stub`, `real`, `replay`, not text `sutb`. Did you mean `stub`?",
        "FILE, line 2: `fail_fast` must be `true` or `false`, not text `false`. Write `fail_fast: false`.",
        "FILE, line 5: `trainers[0].parms_variants` is not a known field. Did you mean `params_variants`?",
        "FILE, line 6: `run_id` is refused: a run id is one folder name inside `runs_dir`. Write `run_id: x`.",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max_worker: 2", "`max_worker` is not a known field. Did you mean `max_workers`?"),
        ("llm: {modle: x}", "`llm.modle` is not a known field. Did you mean `model`?"),
        ("llm: {roles: {optimzer: {}}}", "`llm.roles.optimzer` is not a known field. Did you mean `optimizer`?"),
        ("llm: {roles: {judge: {modle: x}}}", "`llm.roles.judge.modle` is not a known field. Did you mean `model`?"),
        ("llm: {prices: {gpt-4.1: {prompt: 1}}}", "`llm.prices[gpt-4.1].completion` is missing."),
        ("budget: {evalutions: 3}", "`budget.evalutions` is not a known field. Did you mean `evaluations`?"),
        ("budget: {usd: -1}", "`budget.usd` must be 0 or more, not `-1`."),
        ("sandbox: {memory_mb: 0}", "`sandbox.memory_mb` must be more than 0, not `0`."),
        ("plugins: {excludes: []}", "`plugins.excludes` is not a known field. Did you mean `exclude`?"),
        ("tasks: a:b", "`tasks` must be a list, not text `a:b`."),
        ("tasks: [3]", "`tasks[0]` must be a mapping, not `3`."),
        ("tasks: [{eval_kwargs: {}}]", "`tasks[0].id` is missing."),
        ("tasks: [{id: x, evalkwargs: {}}]", "`tasks[0].evalkwargs` is not a known field. Did you mean `eval_kwargs`?"),
        ("trainers: [{id: X, logger: off}]", "`trainers[0].logger` must be text, not `false`. Write it in quotes."),
        ("trainers: [{id: X, params: 3}]", "`trainers[0].params` must be a mapping, not `3`."),
        ("seed: x", "`seed` must be a whole number, not text `x`."),
        ("seeds: [1.5]", "`seeds[0]` must be a whole number, not `1.5`."),
        ("n-concurrent: -1", "`n-concurrent` must be 1 or more, not `-1`."),
        ("max_workers: true", "`max_workers` must be a whole number, not `true`."),
        ("run_id: 20261121", '`run_id` must be text, not `20261121`. Write `run_id: "20261121"`.'),
        (
            "run_id: 1e3",
            '`run_id` must be text, not `1000.0`. `run_id: "1e3"` is the text; without quotes it is the number `1000.0`.',
        ),
        ("run_id: 1_0", '`run_id` must be text, not `10`. `run_id: "1_0"` is the text;'),
        ("run_id: 0x10", '`run_id` must be text, not `16`. `run_id: "0x10"` is the text;'),
        ("{trainers: [{id: .5e1, seeds: 3}]}", '`trainers[0].id` must be text, not `5.0`. `id: ".5e1"` is the text;'),
        ("mode: replay", "`mode: replay` needs `replay_from`, the run to take the recorded exchanges from"),
        ("mode: replay", "FILE, line 1: `mode` is refused: `mode: replay`"),
        ("llm: {base_url: localhost:80}", "`llm.base_url` must match `^https?://`, not text `localhost:80`."),
        ("seeds: [1, 2, 1]", "`seeds[2]` is the same as `seeds[0]`."),
        ("tasks: [a:b, a:c, {id: a:b, eval_kwargs: {}}]", "`tasks[2]` is the same as `tasks[0]`."),
        ("trainers: [X, {name: X, params: {}}]", "`trainers[1]` is the same as `trainers[0]`."),
        (
            "trainers: [{id: X, params_variants: [{a: 1}, {a: 1}]}]",
            "`trainers[0].params_variants[1]` is the same as `trainers[0].params_variants[0]`.",
        ),
        ("max_workers: 1\nn_concurrent: 2", "`n_concurrent` and `max_workers` say different things."),
        ("seeds: [1]\nseed: 2", "`seed` and `seeds` say different things."),
        ("mode: stub\nmode: real", "line 2: `mode` is written twice, first on line 1."),
        ("llm: {model: a, model: b}", "line 1: `llm.model` is written twice, first on line 1."),
        ("llm: {api_key: sk-1}", "`llm.api_key` is a secret, and configs are published."),
        ("optimizer_kwargs: {api-key: sk-1}", "`optimizer_kwargs.api-key` is a secret, and configs are published."),
        ("trainers: [{id: X, params: {eval_kwargs: {n: 1}}}]", "`trainers[0].params.eval_kwargs` belongs to tasks"),
        (
            "trainers: [{id: X, params: {optimizer_kwargs: 3}}]",
            "`trainers[0].params.optimizer_kwargs` must be a mapping, not `3`.",
        ),
        ("- a\n- b", "the config must be a mapping of fields to values, not a list."),
        ("eval_kwargs: {1: a}", "`eval_kwargs` has the key `1`: keys are text, write it in quotes."),
        ("eval_kwargs: {a: .nan}", "`eval_kwargs.a` is nan: numbers in a config are finite."),
        ("eval_kwargs: {a: !!binary aGk=}", "`eval_kwargs.a` is a bytes, which a config cannot hold."),
        ("eval_kwargs: &a {x: *a}", "levels, or refers to itself."),
        ("a: [1", "not valid YAML: "),
        ("a: !!python/name:os.system x", "not valid YAML: could not determine a constructor"),
        ("seeds:\n\t- 1", "line 2: not valid YAML: a tab: YAML is indented with spaces."),
        ("a: b: c", "line 1: not valid YAML: mapping values are not allowed"),
        ("mode: stub\n---\nmode: real", "line 2: not valid YAML: but found another document."),
        ("mode: stub\nx: \x07", "line 2: not valid YAML: control characters are not allowed."),
        ("tasks: [a:b,\n  c:d\nseeds: [1]", "line 3: not valid YAML: a `]` is missing: the list that begins in line 1"),
        (
            "budget:\n  usd: 1\n   tokens: 5",
            "line 3: not valid YAML: the field is indented by 3 spaces, and the one before it in",
        ),
        (
            "tasks: [a:b]\n seed: 1",
            "line 2: not valid YAML: the field is indented by 1 space, and the one before it in",
        ),
        (
            "budget:\n  usd: 1\n tokens: 5",
            "line 3: not valid YAML: the field is indented by 1 space, and those above it by",
        ),
        (
            "tasks:\n  - id: a:b\n   initial: {}",
            "by 3 spaces, and those above it by 0 spaces or 4 spaces: fields that belong",
        ),
        (
            "# mine\n seed: 7\nmode: stub",
            "line 2: not valid YAML: the field is indented by 1 space, and a later one in line 3 by 0",
        ),
        ("budget: {usd: 0,5}", "`budget` has the key `5`: a decimal comma? Write `0.5`."),
        ("mode: live", "must be one of `stub`, `real`, `replay`, not text `live`. Write `mode: real`."),
        ("mode: dry-run", "not text `dry-run`. Write `mode: stub`."),
        ("resume: true", "not `true`. Write `resume: auto`."),
        ("llm: {cache: yes}", "not `true`. Write `cache: run`."),
        ("retries: 3", "must be a mapping, not `3`. Write `retries: {failed: 3}`."),
        (
            "sandbox: false",
            "`sandbox: {require: process}` runs code of models unprotected where nothing better is there.",
        ),
        ("sandbox: docker", "`sandbox: {require: auto}` isolates candidates with this machine's own means"),
        ("run_id: my run/1", "Write `run_id: my-run-1`."),
        ("llm: {base_url: '127.0.0.1:8000/v1'}", "Write `base_url: http://127.0.0.1:8000/v1`."),
        ("llm: {base_url: api.example.com}", "Write `base_url: https://api.example.com`."),
        ("llm: {model: [a, b]}", "Several models are an axis beside `llm`: `llm_variants: [a, b]`."),
        ("llm: {models: [a, b]}", "Several models are an axis beside `llm`: `llm_variants: [a, b]`."),
        ("llm: {judge: {model: a}}", "It is written `roles: {judge: {…}}`."),
        ("llm: {key: $OPENAI_API_KEY}", "`api_key_env: OPENAI_API_KEY`"),
        ("llm: {key: hunter2}", "It is written `api_key_env: NAME`."),
        ("max_tokens: 200", "Of models it is written `llm: {max_tokens: 200}`."),
        ("timeout: 5m", "It is written `job_timeout: 300`."),
        ("trainers: [{id: a, seeds: [1, 2]}]", "stands at the top of the config. Write `seeds: [1, 2]`."),
        ("- internal:numeric_param", "not a list. Write `tasks: [internal:numeric_param]`."),
        ("seed: [1, 2]", "line 1: `seed` must be a whole number, not a list. Several are written `seeds: [1, 2]`."),
        (
            "trainers:\n  - RandomSearch\n   - NoOp",
            "line 3: `trainers[0]` runs into the next line, whose dash is indented further: write `- RandomSearch` and `- NoOp`",
        ),
        ("budget:\n  usd: 0,5", "`budget.usd` must be a number, not text `0,5`. Write `usd: 0.5`."),
        ("budget:\n  usd: 2,50", "Write `usd: 2.5`."),
        ("budget:\n  evaluations: 1,000", "Write `evaluations: 1000`."),
        (
            "tasks: [{task: a:b, target: 3}]",
            "`tasks[0].target` is not a known field. Options of a task are written `eval_kwargs: {target: 3}`.",
        ),
        ("tasks: [{task: a:b, options: {n: 3}}]", "Options of a task are written `eval_kwargs: {n: 3}`."),
        (
            "tasks: [{task: a:b, seeds: [1]}]",
            "It holds for all tasks and stands at the top of the config. Write `seeds: [1]`.",
        ),
        ("tasks: [{task: a:b, max_evals: 9}]", "at the top of the config. It is written `budget: {evaluations: 9}`."),
        ("tasks: [{a:b: {n: 3}}]", "`tasks[0].id` is missing. Write `{id: a:b, eval_kwargs: {n: 3}}`."),
        ("tasks: [a:b,\n  c:d,\n", "line 2: not valid YAML: a `]` is missing: the list that begins in line 1"),
        (
            "mode: stub\nllm: {model: a\nseeds: [1]",
            "line 3: not valid YAML: a `}` is missing: the mapping that begins in line 2",
        ),
        ("tasks: [a]]\nseeds: [1]", "line 1: not valid YAML: did not find expected"),
        ("tasks: [a,\n  b:c]\nseeds:[1]", "line 3: not valid YAML: no space after the colon: write `seeds: [1]`."),
        ("model: x\nllm: [a]", "FILE, line 2: `llm` must be a mapping, not a list."),
        ("model: x\nllm: false", "FILE, line 2: `llm` must be a mapping, not `false`."),
        ("model: x\nllm: {model: y}", "FILE, line 1: `model` and `llm.model` say different things."),
        ("llm: {record: [1]}", "`llm.record` must be `true` or `false`, not a list."),
        ("fail_fast: [true]", "`fail_fast` must be `true` or `false`, not a list."),
        (f"budget: {'9' * 400}", "`budget` is a whole number of over 308 digits"),
    ],
)
def test_the_field_is_named(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in complaint(tmp_path, text)


def test_the_line_is_the_one_of_the_field_the_user_wrote(tmp_path: Path) -> None:
    text = "mode: stub\n\ntrainers:\n  - X\n  - name: Y\n    ps_steps: 2\n    params:\n      optimizer_kwargs: 3\n"

    assert complaint(tmp_path, text).startswith("FILE, line 8: `trainers[1].params.optimizer_kwargs`")


def test_json_errors_name_the_line(tmp_path: Path) -> None:
    assert complaint(tmp_path, '{\n "mode": }', name="c.json") == "FILE, line 2: not valid JSON: Expecting value."
    assert "line 2: `mode` must be one of" in complaint(tmp_path, '{\n\t"mode": "sutb"\n}', name="c.json")
    assert "`seeds` is written twice" in complaint(tmp_path, '{"seeds": [1], "seeds": [2]}', name="c.json")


def test_a_missing_file_names_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "smoke.yaml").touch()

    with pytest.raises(ConfigError, match=r"does not exist\. Did you mean `\S*/smoke.yaml`\?") as caught:
        load_config(tmp_path / "smok.yaml")

    assert caught.value.hint == f"ls {tmp_path}"


def test_a_folder_and_a_binary_file_are_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path)
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_config(tmp_path / "b.yaml")


def test_a_file_that_explodes_is_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]

    assert "more than 1,000,000 values" in complaint(tmp_path, "\n".join(lines))


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    assert "levels" in complaint(tmp_path, "a: " + "[" * 200 + "]" * 200)
    assert "FILE, line 1" in complaint(tmp_path, "a: " + "[" * 20_000)


def test_a_mapping_has_no_lines_but_an_origin() -> None:
    with pytest.raises(ConfigError, match=r"^`the form`: `mode` must be one of"):
        parse_config({"mode": "sutb"}, origin="the form")
    with pytest.raises(ConfigError, match=r"`runs_dir` is a PosixPath, which a config cannot hold"):
        parse_config({"runs_dir": Path("runs")})


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcdefghijklmnop",
        "hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh",
        "abcdef0123456789abcdef0123456789ab",
        "a b",
        "1ST",
    ],
)
def test_a_key_in_place_of_its_variables_name_is_refused_and_not_repeated(tmp_path: Path, key: str) -> None:
    said = complaint(tmp_path, f"llm: {{api_key_env: '{key}'}}")

    assert "`llm.api_key_env` is refused: it must be the name of a variable" in said
    assert key not in said


@pytest.mark.parametrize("run_id", ['"a\\nb"', '"\\eb"', "'-rf'", "x" * 129, "'a\\b'", "..", '"a\\0"'])
def test_a_run_id_is_one_plain_folder_name(tmp_path: Path, run_id: str) -> None:
    said = complaint(tmp_path, f"run_id: {run_id}")

    assert "`run_id` is refused" in said
    assert "\x1b" not in said


def test_a_file_without_end_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"is longer than 64 MB: that is no run config"):
        load_config(Path("/dev/zero"))


@pytest.mark.parametrize("number", ["010", "1:30", "0b11", "0o17", "1:30.5"])
def test_a_number_that_only_yaml_1_1_knows_is_told_and_not_guessed(number: str) -> None:
    with pytest.raises(ConfigError, match=f"text `{number}`"):
        parse_config(parse(f"max_workers: {number}", origin="FILE").data, origin="FILE")


@pytest.mark.parametrize(
    ("text", "works"),
    [
        ("evaluations: 50", "budget: {evaluations: 50}"),
        ("usd: $5", "budget: {usd: 5}"),
        ("max-cost: 2.5", "budget: {usd: 2.5}"),
        ("iterations: 10k", "budget: {evaluations: 10000}"),
        ("time_limit: 5m", "budget: {seconds: 300}"),
        ("n_seeds: 5", "seeds: 1..5"),
        ("n_seeds: 1", "seeds: 1..1"),
        ("repeats: x3", "seeds: 1..5"),
        ("repeats: '3'", "seeds: 1..3"),
        ("workers: 4", "max_workers: 4"),
        ("output_dir: out", "runs_dir: out"),
        ("optimizer: OPRO", "trainers: [{id: …, optimizer: OPRO}]"),
        ("algorithm: RandomSearch", "trainers: [RandomSearch]"),
        ("benchmark: internal:code_param", "tasks: [internal:code_param]"),
        ("tasks: {internal: code_param}", "tasks: [internal:code_param]"),
        ("tasks: [internal: code_param]", "internal:code_param"),
        ("trainers: [{RandomSearch: {num_steps: 3}}]", "{id: RandomSearch, num_steps: 3}"),
        ("trainers: [{RandomSearch: }]", "{id: RandomSearch}"),
    ],
)
def test_what_others_write_at_the_top_is_answered_with_the_line_that_works(
    tmp_path: Path, text: str, works: str
) -> None:
    place = text.partition(":")[0]
    try:
        config = parse(f"{text}\n", origin="FILE").data
        parse_config(config)
        said = elsewhere(place, config[place])  # a trainer might know it: told when none does
    except ConfigError:
        said = complaint(tmp_path, text)
    assert f"`{works}`" in said
    field = works if ": " in works and not works.startswith("{") else f"{place}: [{works}]"
    parse_config(parse(field, origin="FILE").data)


@pytest.mark.parametrize(
    ("text", "works"),
    [
        ("budget: {dollars: $5}", "usd: 5"),
        ("budget: {time: 5m}", "seconds: 300"),
        ("budget: {minutes: 5}", "seconds: 300"),
        ("budget: {max_calls: 2k}", "llm_calls: 2000"),
        ("budget: {cost: lots}", "usd: …"),
        ("llm: {name: gpt-4o}", "model: gpt-4o"),
        ("llm: {temp: 0.2}", "temperature: 0.2"),
        ("llm: {endpoint: 'http://127.0.0.1:8000'}", "base_url: http://127.0.0.1:8000"),
    ],
)
def test_what_others_write_within_a_field_is_answered_with_the_line_that_works(
    tmp_path: Path, text: str, works: str
) -> None:
    place = text.partition(":")[0]
    assert f"It is written `{works}`." in complaint(tmp_path, text)
    if "…" not in works:
        parse_config(parse(f"{place}: {{{works}}}", origin="FILE").data)


def test_a_field_that_an_entry_has_is_no_name(tmp_path: Path) -> None:
    text = "tasks: [{eval_kwargs: {a: 1}}]\ntrainers: [{optimizer_kwargs: {a: 1}}, {params: {num_steps: 3}}]"
    assert complaint(tmp_path, text).splitlines() == [
        "FILE, line 1: `tasks[0].id` is missing.",
        "FILE, line 2: `trainers[0].id` is missing.",
        "FILE, line 2: `trainers[1].id` is missing.",
    ]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-7", -7),
        ("10_000", 10000),
        ("0x1F", 31),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e-3", 1e-3),
        ("2.", 2.0),
        ("1.5e3", 1500.0),
        ("00.5", 0.5),
    ],
)
def test_plain_numbers_are_numbers(text: str, number: float) -> None:
    found = parse(f"x: {text}", origin="FILE").data["x"]
    assert found == number
    assert type(found) is type(number)


def test_a_tilde_is_the_users_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")

    config = parse_config({"runs_dir": "~/runs", "mode": "replay", "replay_from": "~/runs/old"})

    assert (config.runs_dir, config.replay_from) == ("/home/me/runs", "/home/me/runs/old")


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("seeds: 3", "seeds=1..3"),
        ("budget: $5", "'budget={usd: 5}'"),
        ("llm: {cache: of}", "'llm.cache=\"off\"'"),
        ("seeds: 3\njob_timeout: 5m", "seeds=1..3 -o job_timeout=300"),
    ],
)
def test_the_hint_shows_the_config_mended(tmp_path: Path, text: str, change: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)

    with pytest.raises(ConfigError) as caught:
        load_config(path)

    assert caught.value.hint == f"trace-bench config show {path} -o {change}"
    load_config(path, overrides=[part for part in shlex.split(change) if part != "-o"])


NASTY = [
    [1], [True], [[1]], [{}], [{"a": [1]}], {"a": 1}, {}, [], "", "-", "$", "[", "nan", "1e999", "1..1e9", "9" * 5000,
    10**400, -1, 1e308, True, None,
]  # fmt: skip


@pytest.mark.parametrize("value", NASTY, ids=lambda value: repr(value)[:20])
def test_whatever_stands_in_a_field_what_was_meant_is_yaml_or_nothing(value: Any) -> None:
    locs = [(*place, field) for place, model in PLACES for field in model.model_fields]
    assert len(locs) > 100
    for loc in locs:
        found = meant(loc, value)
        assert found is None or "x" in document.value(f"x: {found.text}")


@pytest.mark.parametrize("text", ["trainers: [{id: X, params_variants: many}]", "seeds: many", "budget: plenty"])
def test_where_nothing_is_likely_no_line_is_made_up(tmp_path: Path, text: str) -> None:
    assert "Write `" not in complaint(tmp_path, text)
