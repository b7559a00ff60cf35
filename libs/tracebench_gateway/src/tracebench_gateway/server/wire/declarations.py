"""Functions that a request to Google's API declares, and which of them it forces, in the form of the chat API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracebench_gateway.server.requests.reading import BadRequest
from tracebench_gateway.server.wire.contents import named, to_camel
from tracebench_gateway.server.wire.tools import Offered, objects, refuse_forced

DECLARED = frozenset({"name", "description", "parameters", "parametersJsonSchema"})
UNHEEDED = frozenset({"response", "responseJsonSchema", "behavior"})
CALLING = frozenset({"mode", "allowedFunctionNames", "streamFunctionCallArguments"})
MODES = {"AUTO": "auto", "VALIDATED": "auto", "ANY": "required", "NONE": "none"}
TYPES = {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}
COUNTS = {"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}
"""Whole numbers of 64 bits, which Google's API writes as texts."""
MOST_DIGITS = 19
KEYWORDS = COUNTS | {"type", "properties", "anyOf", "items", "additionalProperties", "nullable", "propertyOrdering"}
NO_KEYWORDS = {"nullable", "propertyOrdering"}
"""What JSON Schema does not have."""


def read_declarations(given: Any) -> Offered:
    """Read the tools of Google's API; each holds functions, or what Google would run.

    Raises:
        BadRequest: when they are no list of objects.
    """
    functions, told = [], set[str]()
    for tool in objects(given, "tools"):
        fields = named(tool, ("functionDeclarations",), "tools[]")
        declarations = objects(fields.pop("functionDeclarations", None), "tools[].functionDeclarations")
        told |= {f"tools[].{to_camel(name)[:80]}" for name, value in fields.items() if value is not None}
        for declaration in declarations:
            declared = named(declaration, DECLARED | UNHEEDED, "tools[].functionDeclarations[]")
            if unknown := sorted(declared.keys() - DECLARED - UNHEEDED):
                raise BadRequest(f"the gateway does not pass on `tools[].functionDeclarations[].{unknown[0][:80]}`")
            told |= {f"tools[].functionDeclarations[].{name}" for name in UNHEEDED if declared.get(name)}
            functions.append({"type": "function", "function": _function(declared)})
    return Offered(functions, tuple(sorted(told)), {})


def tool_choice(config: Mapping[str, Any], offered: Offered) -> tuple[Offered, Any, tuple[str, ...]]:
    """Return the functions that may be called, the chat API's `tool_choice`, and what of `toolConfig` is left out.

    Raises:
        BadRequest: when it allows or forces what is not there.
    """
    fields = named(config, ("functionCallingConfig",), "toolConfig")
    calling = named(fields.pop("functionCallingConfig", None) or {}, CALLING, "toolConfig.functionCallingConfig")
    unheeded = [f"toolConfig.{to_camel(name)[:80]}" for name, value in fields.items() if value]
    if calling.get("streamFunctionCallArguments"):
        unheeded.append("toolConfig.functionCallingConfig.streamFunctionCallArguments")
    mode, allowed = calling.get("mode") or "MODE_UNSPECIFIED", calling.get("allowedFunctionNames") or []
    if not isinstance(mode, str) or not isinstance(allowed, list):
        raise BadRequest("`toolConfig.functionCallingConfig` must have a text as `mode`, and a list of names")
    choice = MODES.get(mode.upper())
    if choice is None and mode.upper() != "MODE_UNSPECIFIED":
        raise BadRequest(f"`toolConfig.functionCallingConfig.mode` must be one of {', '.join(MODES)}")
    names = [function["function"]["name"] for function in offered.functions]
    for name in allowed:
        refuse_forced(str(name), offered, must_call=True)
        if name not in names:
            raise BadRequest(f"`toolConfig` allows `{str(name)[:80]}`, which no tool declares")
    refuse_forced(None, offered, must_call=choice == "required")
    if not allowed:
        return offered, choice, tuple(unheeded)
    functions = [function for function in offered.functions if function["function"]["name"] in allowed]
    one = {"type": "function", "function": {"name": allowed[0]}}
    return (
        offered._replace(functions=functions),
        one if (choice, len(functions)) == ("required", 1) else choice,
        tuple(unheeded),
    )


def plain_schema(given: Any) -> Any:
    """Return a schema of Google's as JSON Schema: its types in small letters, counts as numbers, `nullable` as a type."""
    if not isinstance(given, dict):
        return given
    schema: dict[str, Any] = {}
    for name, value in given.items():
        key = to_camel(name) if to_camel(name) in KEYWORDS else name
        if key not in NO_KEYWORDS and (key, value) != ("type", "TYPE_UNSPECIFIED"):
            schema[key] = _plain(key, value)
    if given.get("nullable") is True and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    return schema


def _plain(key: str, value: Any) -> Any:
    match key, value:
        case "type", str() if value.upper() in TYPES:
            return value.lower()
        case "properties", dict():
            return {name: plain_schema(inner) for name, inner in value.items()}
        case "anyOf", list():
            return [plain_schema(inner) for inner in value]
        case (("items" | "additionalProperties"), _):
            return plain_schema(value)
        case _, str() if key in COUNTS and value.isascii() and value.isdigit() and len(value) < MOST_DIGITS:
            return int(value)
    return value


def _function(declared: Mapping[str, Any]) -> dict[str, Any]:
    parameters = declared.get("parametersJsonSchema")
    if parameters is None:
        parameters = plain_schema(declared.get("parameters"))
    if not isinstance(parameters, dict | None):
        raise BadRequest("`tools[].functionDeclarations[].parameters` must be an object")
    described = {"description": declared["description"]} if declared.get("description") else {}
    return {"name": declared.get("name"), **described} | ({} if parameters is None else {"parameters": parameters})
