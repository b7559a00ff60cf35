"""The JSON Schema of a config, for editors: every field with its words, other spellings and short forms included."""

from __future__ import annotations

import ast
import inspect
import textwrap
from itertools import pairwise
from typing import Any

from pydantic import BaseModel

from tracebench_core.specs import (
    Budget,
    InitialFrom,
    ListedModel,
    LLMConfig,
    PluginsConfig,
    Price,
    ProgramsConfig,
    RoleConfig,
    RunConfig,
    SandboxConfig,
    TaskEntry,
    TrainerEntry,
)
from tracebench_core.specs.seeds import PATTERN
from tracebench_core.specs.verdict import PairData, SettlingData, Verdict
from tracebench_engine.config.canonical import ALIASES, KNOBS, OF_THE_MODEL, ONE_OF_A_LIST, knob_prefixes

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MODELS: tuple[type[BaseModel], ...] = (
    TaskEntry,
    InitialFrom,
    TrainerEntry,
    Price,
    ListedModel,
    RoleConfig,
    LLMConfig,
    PluginsConfig,
    SandboxConfig,
    ProgramsConfig,
    Budget,
)


def config_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of what `load_config` accepts, dashes for underscores and bare settings of trainers aside."""
    schema = RunConfig.model_json_schema()
    definitions = schema["$defs"]
    _describe(schema, RunConfig)
    for model in MODELS:
        _describe(definitions[model.__name__], model)
    _add_spellings(schema, "run")
    of_the_model = definitions["LLMConfig"]["properties"]
    for name in OF_THE_MODEL:
        shape = of_the_model[ALIASES["model"].get(name, name)]
        schema["properties"][name] = {**shape, "description": f"Another place for `llm.{name}`.", "deprecated": True}
    for name, level in (
        ("TaskEntry", "task"),
        ("TrainerEntry", "trainer"),
        ("ListedModel", "model"),
        ("RoleConfig", "model"),
        ("LLMConfig", "model"),
    ):
        _add_spellings(definitions[name], level)
    for name in ("tasks", "trainers"):
        schema["properties"][name]["items"] = {"anyOf": [{"type": "string"}, schema["properties"][name]["items"]]}
    ranged = {"type": "string", "pattern": PATTERN, "description": "A range, both ends included: `1..8`."}
    seeds, seed = schema["properties"]["seeds"], schema["properties"]["seed"]
    words = {"description": seeds.pop("description"), "default": seeds.pop("default")}
    each = {"anyOf": [seeds.pop("items"), ranged]}
    schema["properties"]["seeds"] = {**words, "anyOf": [{**seeds, "items": each}, ranged]}
    schema["properties"]["seed"] = {**seed, **each} | {"type": ["integer", "string"]}
    for part in (schema, definitions["TrainerEntry"]):
        knob = {"description": "A setting of the trainer; better written in `params_variants`.", "deprecated": True}
        if prefixes := knob_prefixes():
            part["patternProperties"] = {f"^({'|'.join(prefixes)})": knob}
        part["properties"] |= dict.fromkeys(sorted(KNOBS), knob)
    return {"$schema": DIALECT, **schema}


def verdict_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the verdict that `run --json` and `show --json` give; later versions may add fields to it."""
    schema = Verdict.model_json_schema(mode="serialization")
    parts = [(schema, Verdict), *((schema["$defs"][model.__name__], model) for model in (PairData, SettlingData))]
    for part, model in parts:
        _describe(part, model)
        del part["additionalProperties"]
    return {"$schema": DIALECT, **schema}


def _add_spellings(schema: dict[str, Any], level: Any) -> None:
    """Let an editor accept the other spellings of fields, and strike them through."""
    properties, required = schema["properties"], schema.pop("required", [])
    others: dict[str, list[str]] = {}
    for alias, name in ALIASES[level].items():
        shape = properties[name]
        if alias in ONE_OF_A_LIST:
            shape = shape["items"]
        properties[alias] = {**shape, "description": f"Another spelling of `{name}`.", "deprecated": True}
        others.setdefault(name, []).append(alias)
    if required:
        schema["allOf"] = [{"anyOf": [{"required": [n]} for n in (name, *others.get(name, ()))]} for name in required]


def _describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    for name, words in field_docs(model).items():
        schema["properties"][name]["description"] = words


def field_docs(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstrings that stand below the fields of a model and of its bases, read from their source."""
    docs: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not issubclass(base, BaseModel) or base is BaseModel:
            continue
        try:
            source = inspect.getsource(base)
        except OSError:  # a model that was made, not written
            continue
        body = ast.parse(textwrap.dedent(source)).body[0].body  # type: ignore[attr-defined]  # a class
        for field, doc in pairwise(body):
            match field, doc:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                    docs[name] = inspect.cleandoc(words)
    return {name: words for name, words in docs.items() if name in model.model_fields}
