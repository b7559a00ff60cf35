"""A trainer's setting may stand bare in its entry, or above the trainers: what is like no field is taken for one."""

from __future__ import annotations

import pytest

from tracebench_core.errors import ConfigError
from tracebench_engine.config import parse_config


def test_a_bare_setting_in_an_entry_goes_into_every_variant_that_does_not_set_it() -> None:
    trainers = [
        {"id": "A", "num_steps": 3},
        {"id": "B", "num_steps": 3, "params_variants": [{}, {"num_steps": 5}, {"more": 1}]},
    ]
    first, second = parse_config({"tasks": ["a:b"], "trainers": trainers}).trainers

    assert first.params_variants == ({"num_steps": 3},)
    assert second.params_variants == ({"num_steps": 3}, {"num_steps": 5}, {"num_steps": 3, "more": 1})


@pytest.mark.parametrize("written", [{"num_steps": 3}, {"num-steps": 3}])
def test_a_bare_setting_above_the_trainers_is_merged_under_each(written: dict[str, int]) -> None:
    assert parse_config({"tasks": ["a:b"], "trainers": ["A"], **written}).trainer_kwargs == {"num_steps": 3}
    (text,) = (f"{name}={value}" for name, value in written.items())
    overridden = parse_config({"tasks": ["a:b"], "trainers": ["A"]}, overrides=[text])
    assert overridden.trainer_kwargs == {"num_steps": 3}


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"max_worker": 2}, "`max_worker` is not a known field. Did you mean `max_workers`?"),
        (
            {"trainers": [{"id": "A", "optimzer": "x"}]},
            "`trainers[0].optimzer` is not a known field. Did you mean `optimizer`?",
        ),
        ({"not a name": 2}, "`[not a name]` is not a known field."),
        ({"tasks": [{"id": "a:b", "num_steps": 2}]}, "`tasks[0].num_steps` is not a known field."),
    ],
)
def test_what_is_like_a_field_or_stands_elsewhere_is_an_unknown_field(config: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        parse_config({"tasks": ["a:b"], "trainers": ["A"], **config})

    assert told in str(refusal.value)
