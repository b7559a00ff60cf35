"""One task or part in full: what it is, what it needs, and the settings that a config may give it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tracebench_engine.api.console import output

if TYPE_CHECKING:
    from tracebench_core.specs import TaskSpec
    from tracebench_core.specs.trainer import Component
    from tracebench_engine.api.installed.hosting import PluginHost

_HIDDEN = {"loader", "options", "settings", "name", "preload", "source", "broken"}
"""Fields that say how something is loaded, not what it is."""


def task_document(task_id: str, spec: TaskSpec, host: PluginHost) -> dict[str, Any]:
    """Return everything about a task that can be known without opening it."""
    from tracebench_engine.api.calibrating import default_options, standing
    from tracebench_engine.api.installed.hosting import Catalog

    facts = {"id": task_id, **spec.model_dump(mode="json", exclude=_HIDDEN - {"source"})}
    id_ = host.id_in_file(task_id) or task_id
    facts["calibrated"] = standing(host, id_, spec, default_options(id_, spec)).words
    return {
        **facts,
        "unavailable": Catalog.availability(spec) or None,
        "settings": _settings(spec.options, owner=task_id),
    }


def component_document(name: str, spec: Component) -> dict[str, Any]:
    """Return everything about a trainer, optimizer, guide or logger that can be known without building it."""
    from tracebench_engine.api.installed.hosting import Catalog

    facts = {"id": name, **spec.model_dump(mode="json", exclude=_HIDDEN)}
    return {
        **facts,
        "unavailable": Catalog.availability(spec) or None,
        "settings": _settings(spec.settings, owner=name),
    }


def print_document(document: Mapping[str, Any], *, settings_go_into: str) -> None:
    """Print a document for people: facts that say something, then a table of settings."""
    for name, value in document.items():
        if name != "settings" and value not in (None, "", [], {}, (), False):
            output.line(f"{name.replace('_', ' ') + ':':<22}{output.safe(_words(value))}")
    settings = document["settings"]
    output.line("")
    if settings is None:
        output.line(
            f"`{settings_go_into}`: any keyword is handed on." if settings_go_into != "eval_kwargs" else "No settings."
        )
        return
    output.line(f"Settings, for `{settings_go_into}`:")
    output.table(("name", "type", "default", "meaning"), [tuple(map(output.flat, row.values())) for row in settings])


def _settings(ref: str | None, *, owner: str) -> list[dict[str, str]] | None:
    """Return name, type, default and words of each setting; None when no model declares them."""
    if ref is None:
        return None
    from tracebench_engine.api.configs import field_docs
    from tracebench_engine.api.installed.hosting import load_ref

    model = load_ref(ref, owner=owner)
    docs = field_docs(model)
    shapes = _shapes(model)
    return [
        {
            "name": name,
            "type": _type(shapes.get(name, {})),
            "default": _default(field),
            "meaning": " ".join((field.description or docs.get(name, "")).split()),
        }
        for name, field in model.model_fields.items()
    ]


def _shapes(model: Any) -> Mapping[str, Mapping[str, Any]]:
    """Return the JSON schema of each setting; of one that JSON has no form for, such as a function, there is nothing in it."""
    from pydantic.json_schema import GenerateJsonSchema

    class Lenient(GenerateJsonSchema):
        ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as the base class has it

        def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
            """Say nothing of it."""
            return {}

    found: Mapping[str, Mapping[str, Any]] = model.model_json_schema(schema_generator=Lenient).get("properties", {})
    return found


def _default(field: Any) -> str:
    from pydantic_core import PydanticUndefined

    try:
        value = field.get_default(call_default_factory=True)
    except Exception:  # noqa: BLE001 - of a plugin's own, which may want the other settings
        return "computed"
    return "required" if value is PydanticUndefined else _words(value)


def _type(shape: Mapping[str, Any]) -> str:
    if "enum" in shape:
        return " | ".join(map(str, shape["enum"]))
    if "anyOf" in shape:
        return " | ".join(_type(part) for part in shape["anyOf"])
    low, high = shape.get("minimum", shape.get("exclusiveMinimum")), shape.get("maximum", shape.get("exclusiveMaximum"))
    bounds = (
        f" {'' if low is None else low}..{'' if high is None else high}" if low is not None or high is not None else ""
    )
    return str(shape.get("const", shape.get("type", "any"))) + bounds


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_words(item)}" for key, item in value.items() if item not in (None, "", [], {}))
    if isinstance(value, list | tuple):
        return "; ".join(map(_words, value)) if value and isinstance(value[0], Mapping) else ", ".join(map(str, value))
    return str(value)
