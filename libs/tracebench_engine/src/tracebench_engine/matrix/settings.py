"""From what a user wrote for a trainer, optimizer or task to its resolved settings: aliases mapped, types checked, defaults filled in."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from tracebench_core.errors import ConfigError
from tracebench_core.ids import did_you_mean
from tracebench_core.plugins import load_ref
from tracebench_core.specs import Component, RunConfig, TaskSpec
from tracebench_engine.config.instead import of_models


def known_names(spec: Component | TaskSpec) -> set[str] | None:
    """Return the names that a component's settings (or a task's options) may have, aliases included; None when any will do."""
    ref = spec.options if isinstance(spec, TaskSpec) else spec.settings
    if ref is None:
        return set() if isinstance(spec, TaskSpec) else None
    model: type[BaseModel] = load_ref(ref, owner=spec.name)
    aliases = set() if isinstance(spec, TaskSpec) else set(spec.setting_aliases)
    return set(model.model_fields) | aliases


def resolve_settings(
    spec: Component, *, shared: Mapping[str, Any], own: Mapping[str, Any], where: str
) -> dict[str, Any]:
    """Return a component's resolved settings.

    `shared` holds for all components and gives only what this one knows; everything in `own` must be known.

    Raises:
        ConfigError: for an unknown name, two names of one setting, or a value of the wrong type.
    """
    known = known_names(spec)
    if known is None:
        return {**shared, **own}
    mapped = _map_aliases(spec, {k: v for k, v in shared.items() if k in known}, where=where)
    mapped |= _map_aliases(spec, own, where=where)
    return _validated(str(spec.settings), mapped, owner=spec.name, where=where, hint=_listing(spec))


def resolve_options(
    spec: TaskSpec, *, task_id: str, shared: Mapping[str, Any], own: Mapping[str, Any], where: str
) -> dict[str, Any]:
    """Return a task's resolved options; see `resolve_settings`."""
    known = known_names(spec) or set()
    merged = {k: v for k, v in shared.items() if k in known} | dict(own)
    if spec.options is None:
        if merged:
            raise ConfigError(f"{where}: task `{spec.name}` takes no eval_kwargs, and `{next(iter(merged))}` is given.")
        return {}
    hint = shlex.join(["trace-bench", "list-tasks", task_id])
    return _validated(spec.options, merged, owner=spec.name, where=where, hint=hint)


def _listing(spec: Component) -> str:
    """Return the command that shows a component's settings."""
    kind = type(spec).__name__.removesuffix("Spec").lower()
    return shlex.join(["trace-bench", f"list-{kind}s", spec.name])


def _map_aliases(spec: Component, written: Mapping[str, Any], *, where: str) -> dict[str, Any]:
    mapped: dict[str, Any] = {}
    for name, value in written.items():
        full = spec.setting_aliases.get(name, name)
        if full in mapped:
            raise ConfigError(f"{where}: `{name}` and another name both set `{full}` of `{spec.name}`.")
        mapped[full] = value
    return mapped


def _validated(ref: str, values: Mapping[str, Any], *, owner: str, where: str, hint: str) -> dict[str, Any]:
    model: type[BaseModel] = load_ref(ref, owner=owner)
    try:
        text = json.dumps(values)
    except (TypeError, ValueError) as err:
        raise ConfigError(f"{where}: settings of `{owner}` must be plain data: {err}.") from err
    try:
        return model.model_validate_json(text, strict=True).model_dump(mode="json")
    except ValidationError as err:
        words = " ".join(_words(e, model, owner) for e in err.errors())
        raise ConfigError(f"{where}: {words}", hint=hint) from err


def _words(error: Any, model: type[BaseModel], owner: str) -> str:
    field = ".".join(str(part) for part in error["loc"]) or "settings"
    if error["type"] == "extra_forbidden":
        near = did_you_mean(field, model.model_fields)
        top = f" `{field}` holds for all jobs and stands at the top of the config."
        place = top if field in RunConfig.model_fields else of_models(field, error["input"])
        return f"`{owner}` has no setting `{field}`.{near or place}"
    return f"`{field}` of `{owner}`: {error['msg']}, not {error['input']!r:.60}."
