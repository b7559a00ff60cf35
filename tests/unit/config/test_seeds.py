"""Seeds as ranges: what is written short is read as what it stands for, and told at the place where it was written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracebench_core.errors import ConfigError
from tracebench_core.specs.seeds import write_seeds
from tracebench_engine.config import config_schema, load_config, parse_config


@given(st.sets(st.integers(-40, 40), min_size=1))
def test_seeds_written_short_are_read_back_in_order(seeds: set[int]) -> None:
    assert parse_config({}, overrides=[f"seeds={write_seeds(seeds)}"]).seeds == tuple(sorted(seeds))


def test_what_follows_each_other_is_written_as_one_range() -> None:
    assert write_seeds(range(1, 103)) == "1..102"
    assert write_seeds([20, 3, 2, 1, 8, 9]) == "[1..3,8,9,20]"
    assert write_seeds([5]) == "[5]"


def test_a_file_takes_ranges_and_tells_the_line_of_a_wrong_one(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("seeds: 1..3\n")
    assert load_config(config).seeds == (1, 2, 3)
    config.write_text("tags: [x]\nseeds:\n  - 1..3\n  - 3..4\n")
    with pytest.raises(ConfigError, match=r"line 4: `seeds\[1\]` holds seed 3, which `seeds\[0\]` holds, too"):
        load_config(config)


def test_a_config_with_ranges_is_the_config_that_lists_them() -> None:
    assert parse_config({"seeds": ["1..3", 9]}) == parse_config({"seeds": [1, 2, 3, 9]})


@pytest.mark.parametrize("seeds", ["1..3", ["1..3", 9], [1, 2]])
def test_the_schema_for_editors_takes_what_is_taken(seeds: object) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="it reads the schema as editors do")
    validator = jsonschema.Draft202012Validator(config_schema())
    assert validator.is_valid({"seeds": seeds})
    assert not validator.is_valid({"seeds": "three"})
    assert not validator.is_valid({"seeds": 3})
