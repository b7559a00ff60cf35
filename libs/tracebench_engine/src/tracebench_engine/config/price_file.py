"""Prices from a file: YAML or JSON, model names with USD per million prompt, completion and cached tokens."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from tracebench_core.specs import Price
from tracebench_engine.config import document
from tracebench_engine.config.problems import Loc, Problem, describe, report


def load_prices(path: Path) -> dict[str, Price]:
    """Read a price file, such as `{gpt-4o-mini: {prompt: 0.15, completion: 0.60, cached: 0.075}}`.

    Raises:
        ConfigError: naming file, line and field of every problem, with the nearest valid name for a typo.
    """
    source = document.read(path)
    prices: dict[str, Price] = {}
    problems: list[Problem] = []
    for model, entry in source.data.items():
        try:
            prices[str(model)] = Price.model_validate(entry, strict=True)
        except ValidationError as err:
            for error in err.errors():
                loc: Loc = (str(model), *error["loc"])
                problems.append(Problem(loc, describe({**error, "loc": loc}, Price.model_fields)))
    report(problems, source)
    return prices
