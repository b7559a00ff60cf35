"""`-o key=value` changes one field, and says when there is no such field."""

from pathlib import Path

import pytest

from tracebench_core.errors import ConfigError
from tracebench_engine.config import load_config, parse_config

MATRIX = {"trainers": [{"name": "X", "params": {"ps_steps": 1}}, "Y"], "seed": 1, "tasks": ["a:b"]}


@pytest.mark.parametrize(
    ("override", "path", "expected"),
    [
        ("llm.model=gpt-x", "llm.model", "gpt-x"),
        ("llm.api_base=http://x", "llm.base_url", "http://x"),
        ("seeds=[1,2,3]", "seeds", (1, 2, 3)),
        ("seed=5", "seeds", (5,)),
        ("seeds=1..4", "seeds", (1, 2, 3, 4)),
        ("seeds=[7, 1..3, -1..0]", "seeds", (7, 1, 2, 3, -1, 0)),
        ("seed=2..3", "seeds", (2, 3)),
        ("n-concurrent=4", "max_workers", 4),
        ("job-timeout=", "job_timeout", None),
        ("run_id=a=b", "run_id", "a=b"),
        ("ps_steps=9", "trainer_kwargs", {"ps_steps": 9}),
        ("trainer_kwargs.depth=9", "trainer_kwargs", {"depth": 9}),
        ("budget.usd=1e-2", "budget.usd", 0.01),
        ("trainers[0].params_variants[0].ps_steps=4", "trainers.0.params_variants.0.ps_steps", 4),
        ("trainers[0].params.ps_steps=4", "trainers.0.params_variants.0.ps_steps", 4),
        ("trainers[1].params_variants=[{a: 1}, {a: 2}]", "trainers.1.params_variants", ({"a": 1}, {"a": 2})),
        ("trainers[1].params.a.b=1", "trainers.1.params_variants.0.a.b", 1),
        ("tasks=[c:d]", "tasks.0.id", "c:d"),
        ("tasks[1]=c:d", "tasks.1.id", "c:d"),
        ("llm.prices[m/x]={prompt: 1, completion: 2}", "llm.prices.m/x.completion", 2.0),
        ("plugins.options.suite.root=/x", "plugins.options.suite.root", "/x"),
        ("eval_kwargs.deep[0]=1", "eval_kwargs.deep.0", 1),
    ],
)
def test_an_override_reaches_its_field(override: str, path: str, expected: object) -> None:
    found: object = parse_config(MATRIX, overrides=[override])
    for step in path.split("."):
        if isinstance(found, dict):
            found = found[step]
        elif isinstance(found, tuple | list):
            found = found[int(step)]
        else:
            found = getattr(found, step)
    assert found == expected


def test_later_overrides_win() -> None:
    assert parse_config({}, overrides=["seeds=[1]", "seeds=[2]"]).seeds == (2,)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("llm.modl=x", "`llm.modl` is not a known field. Did you mean `model`?"),
        ("max_worker=2", "`max_worker` is not a known field. Did you mean `max_workers`?"),
        ("tasks.id=x", "`tasks` is a list: name its item, as in `tasks[0]`."),
        ("tasks[7].id=x", "`tasks` has 1 item, counted from 0."),
        ("mode.x=1", "`mode.x` is not a known field."),
        ("llm.roles.optimzer.model=x", "`llm.roles.optimzer` is not a known field. Did you mean `optimizer`?"),
        ("mode=sutb", "`-o mode=sutb`: `mode` must be one of"),
        ("seeds=3", "`-o seeds=3`: `seeds` must be a list, not `3`."),
        ("seeds=3", "`seeds: 1..3` is 3 seeds, and `seeds: [3]` is the seed 3 alone."),
        ("seeds=1-3", "`-o seeds=1-3`: `seeds` must be a list, not text `1-3`."),
        ("seeds=[1..3,x]", "`seeds[3]` must be a whole number, not text `x`."),
        ("seeds=5..1", "`-o seeds=5..1`: `seeds` counts down; `1..5` holds each seed from 1 to 5."),
        ("seeds=1..200000", "`seeds` holds 200,000 seeds; a range holds 100,000 at most."),
        ("seeds=[1..3, 2]", "`seeds[1]` holds seed 2, which `seeds[0]` holds, too."),
        ("seeds=[1", "the value is not valid YAML"),
        ("eval_kwargs.a=.inf", "is inf"),
        ("seeds", "an override is written `key=value`"),
        ("=3", "an override is written `key=value`"),
        ("a..b=3", "`a..b` is not the name of a field."),
    ],
)
def test_a_wrong_override_is_told_as_the_user_typed_it(override: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(MATRIX, overrides=[override])

    assert f"-o {override}" in str(caught.value)
    assert expected in str(caught.value)


def test_problems_of_file_and_override_are_told_together(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("mode: sutb\n")

    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides=["seeds=3"])

    first, second = str(caught.value).splitlines()
    assert first.startswith(f"`{path}`, line 1: `mode`")
    assert second.startswith("`-o seeds=3`: `seeds`")


def test_an_override_mends_what_the_file_says_wrong() -> None:
    assert parse_config({"mode": "sutb"}, overrides=["mode=stub"]).mode == "stub"


@pytest.mark.parametrize(
    "override",
    ["optimizer_kwargs.api_key=hush", "llm.api_key=hush", "OPENAI_API_KEY=hush", "llm.model=sk-hush0123456789abcdef"],
)
def test_a_key_in_an_override_is_refused_and_not_repeated(override: str) -> None:
    with pytest.raises(ConfigError, match="secret") as caught:
        parse_config(MATRIX, overrides=[override])

    assert "hush" not in f"{caught.value} {caught.value.hint}"


def test_the_model_may_stand_at_the_top() -> None:
    wanted = {"llm": {"model": "m", "base_url": "http://x/v1"}}

    assert parse_config({"model": "m", "api-base": "http://x/v1"}) == parse_config(wanted)
    assert parse_config({"llm": "m", "base_url": "http://x/v1"}) == parse_config(wanted)
    assert parse_config({}, overrides=["model=m", "api_base=http://x/v1"]) == parse_config(wanted)
    assert parse_config({"models": ["a", "b"]}) == parse_config({"llm_variants": ["a", "b"]})


def test_text_of_a_block_is_not_taken_for_a_slip(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("eval_kwargs:\n  a: |\n    x = 1\n    seeds:[1]\n\n\n\n\nb: [1\n")

    with pytest.raises(ConfigError, match="line 9: not valid YAML") as caught:
        load_config(path)

    assert "write `" not in str(caught.value)
