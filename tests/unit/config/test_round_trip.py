"""A config written out reads back as itself, and its canonical form is a fixed point."""

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracebench_core.specs import RunConfig
from tracebench_engine.config import config_schema, dump_config, load_config, parse_config
from tracebench_engine.config.canonical import ALIASES, Canonical

text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8) | st.sampled_from(
    [
        "1e-3",
        "off",
        "null",
        "2026-11-21",
        "0x1f",
        "1_000",
        "~",
        "<<",
        "=",
        "- a",
        "a: b",
        "#",
        "12:30:45",
        "\n",
        "a\n b",
    ]
)
scalar = (
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | text
)
free = st.dictionaries(
    text.filter(lambda k: k.lower() not in {"optimizer_kwargs", "eval_kwargs", "api_key", "apikey"}),
    st.recursive(
        scalar, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("k"), inner), max_leaves=4
    ),
    max_size=3,
)
configs = st.fixed_dictionaries(
    {},
    optional={
        "run_id": st.sampled_from(["a", "2026-11-21", "1e3"]),
        "seeds": st.lists(st.integers(0, 9), unique=True, max_size=3) | st.sampled_from(["1..3", ["1..3", 9]]),
        "n-concurrent": st.integers(0, 4),
        "job-timeout": st.floats(0, 10),
        "tags": st.lists(text | st.integers(), max_size=2),
        "eval_kwargs": free,
        "trainer_kwargs": free,
        "ps_steps": st.integers(),
        "budget": st.fixed_dictionaries({}, optional={"evaluations": st.integers(0, 9), "usd": st.floats(0, 1)}),
        "tasks": st.lists(st.sampled_from(["a:b", "c"]), unique=True)
        | st.lists(st.fixed_dictionaries({"key": st.just("x")}, optional={"eval_kwargs": free}), max_size=1),
        "trainers": st.lists(
            st.fixed_dictionaries({"name": st.just("X")}, optional={"params": free, "threads": st.integers()}),
            max_size=1,
        ),
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=configs)
def test_dump_and_load_are_inverse(raw: dict[str, Any], tmp_path: Path) -> None:
    config = parse_config(raw)
    path = tmp_path / "c.yaml"
    path.write_text(dump_config(config), encoding="utf-8")

    assert load_config(path) == config


@given(raw=configs)
def test_the_canonical_form_is_a_fixed_point(raw: dict[str, Any]) -> None:
    once = Canonical(raw).data

    assert Canonical(once).data == once


def test_the_schema_knows_every_spelling_and_every_field() -> None:
    schema = config_schema()

    assert set(RunConfig.model_fields) | set(ALIASES["run"]) <= set(schema["properties"])
    assert "Per job." in json.dumps(schema["properties"]["budget"])
    assert schema["additionalProperties"] is False
    trainer = schema["$defs"]["TrainerEntry"]
    assert trainer["allOf"] == [{"anyOf": [{"required": [name]} for name in ("id", "name", "trainer", "key")]}]
    assert trainer["properties"]["params"]["type"] == "object"
