"""Task files: YAML lists of entries, read with the line of every field, so that an error says where it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from tracebench_core.errors import ConfigError
from tracebench_core.ids import did_you_mean
from tracebench_hfqa.entry import Entry

if TYPE_CHECKING:
    import yaml

SHIPPED = Path(__file__).with_name("tasks.yaml")
SHIPPED_QUICKLY = SHIPPED.with_suffix(".json")
"""The same as JSON, which is read without a YAML library: listing tasks imports none."""
HINT = "docs/reference/hf.md lists every field"


def shipped_entries() -> list[Entry]:
    """Return the entries that come with the plugin."""
    return [Entry.model_validate(value) for value in json.loads(SHIPPED_QUICKLY.read_text(encoding="utf-8"))]


def read_entries(path: Path) -> list[Entry]:
    """Return the entries of a task file.

    Raises:
        ConfigError: naming file, line and field of everything that is wrong, with the nearest known name.
    """
    import yaml  # noqa: PLC0415 - only for files of the user's

    try:
        text = path.read_text(encoding="utf-8")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except OSError as err:
        raise ConfigError(f"The task file `{path}` cannot be read: {err.strerror}.", hint=HINT) from err
    except (yaml.YAMLError, UnicodeDecodeError) as err:
        mark = getattr(err, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"`{path}`{where}: not YAML: {getattr(err, 'problem', None) or err}.", hint=HINT) from err
    if data is None:
        return []
    if not isinstance(node, yaml.SequenceNode):
        raise ConfigError(
            f"`{path}`, line 1: a task file is a list of entries, each beginning with `- id:`.", hint=HINT
        )
    found: list[Entry] = []
    problems: list[tuple[int, str]] = []
    first: dict[str, int] = {}
    for item, value in zip(node.value, data, strict=True):
        line = item.start_mark.line + 1
        if not isinstance(value, dict):
            problems.append((line, "an entry is a mapping of fields"))
            continue
        if (name := str(value.get("id"))) in first:
            problems.append((line, f"`id` `{name}` is declared on line {first[name]} already"))
        first.setdefault(name, line)
        problems += _repeated(item)
        try:
            found.append(Entry.model_validate(value))
        except ValidationError as err:
            problems += [_told(item, error) for error in err.errors()]
    if problems:
        raise ConfigError("\n".join(f"`{path}`, line {line}: {text}." for line, text in sorted(problems)), hint=HINT)
    return found


def _told(item: yaml.MappingNode, error: Any) -> tuple[int, str]:
    """Return the line and the words of one validation error."""
    name = str(error["loc"][0]) if error["loc"] else ""
    line = next((key.start_mark.line + 1 for key, _ in item.value if key.value == name), item.start_mark.line + 1)
    match error["type"]:
        case "extra_forbidden":
            near = did_you_mean(name, Entry.model_fields).removesuffix("?")
            return line, f"`{name}` is not a known field{'.' if near else ''}{near}"
        case "missing":
            return line, f"`{name}` is missing"
        case "literal_error":
            known = str(error["ctx"]["expected"]).replace("'", "`")
            return line, f"`{name}` must be {known}, not `{error['input']}`"
        case _:
            words = str(error["msg"]).removeprefix("Value error, ")
            return line, f"`{name}`: {words}" if name else words


def _repeated(item: yaml.MappingNode) -> list[tuple[int, str]]:
    """Find fields that are written twice; YAML would silently keep the last."""
    keys = [key for key, _ in item.value]
    first = {key.value: key for key in reversed(keys)}
    return [(k.start_mark.line + 1, f"`{k.value}` is written twice") for k in keys if first[k.value] is not k]
