"""A config file as text, data and line numbers: YAML 1.1 without its traps, or JSON."""

from __future__ import annotations

import json
import math
import re
import shlex
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import yaml

from tracebench_core.errors import ConfigError
from tracebench_core.ids import nearest
from tracebench_core.specs import RunConfig
from tracebench_engine.config.problems import HINT, Loc, Problem, hide_keys, render, report
from tracebench_engine.config.secrets import secret_of_line
from tracebench_engine.config.slips import find_slip

MAX_VALUES = 1_000_000
MAX_DEPTH = 100
MOST_BYTES = 64 * 2**20
"""A file without end, such as `/dev/zero`, is read so far."""
MERGE_TAG = "tag:yaml.org,2002:merge"
# `1e-3` is a number to everybody but YAML 1.1.
INTEGER = re.compile(r"^[-+]?(0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$")
DECIMAL = re.compile(
    r"^([-+]?([0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"
)
_ID = re.compile(r"[\w-]{1,40}:[\w/.-]{1,80}")
QUOTED = re.compile(r":.*[:#{\[]")
EXPONENT = re.compile(r"^[-+]?[0-9]+[eE][-+]?[0-9]+$")

Node: TypeAlias = yaml.nodes.Node
_Reader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml where it is built in: eight times faster
_Writer: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class Loader(_Reader):  # type: ignore[misc]  # one of two classes, known at run time
    """Reads what JSON can hold: dates stay text, and so do `010` and `1:30`, which YAML 1.1 takes for 8 and 90."""


class Dumper(_Writer):  # type: ignore[misc]  # as above
    """Writes text so that `Loader` reads it back as text."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Write equal values out in full, without anchors."""
        return True


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag.rpartition(":")[2] not in {"timestamp", "int", "float"}]
    for first, resolvers in _Reader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:int", INTEGER, list("-+0123456789"))
Loader.add_implicit_resolver("tag:yaml.org,2002:float", DECIMAL, list("-+0123456789."))
for _class in (Loader, Dumper):
    _class.add_implicit_resolver("tag:yaml.org,2002:float", EXPONENT, list("-+0123456789"))


class Document:
    """What a config says, and where it says it."""

    def __init__(self, origin: str, data: dict[str, Any], *, node: Node | None = None, json_text: str = "") -> None:
        self.origin = origin
        """The file's name as the user wrote it."""
        self.data = data
        self._node = node
        self._json_text = json_text

    def line(self, loc: Loc) -> int | None:
        """Return the line, from 1, of the deepest part of `loc` that the file holds."""
        if self._root is None:
            return None
        line, node = 1, self._root
        for step in loc:
            found = _child(node, step)
            if found is None:
                break
            line, node = found
        return line

    def spelling(self, loc: Loc) -> str | None:
        """Return a single value as the file writes it, `1e3` of the number 1000.0; None where `loc` holds none."""
        node = self._root
        for step in loc:
            found = None if node is None else _child(node, step)
            node = None if found is None else found[1]
        return str(node.value) if isinstance(node, yaml.ScalarNode) else None

    @cached_property
    def _root(self) -> Node | None:
        return _compose_json(self._json_text) if self._json_text else self._node


def read(path: Path) -> Document:
    """Read a config file.

    Raises:
        ConfigError: it cannot be read, is neither YAML nor JSON, or holds something that JSON cannot.
    """
    try:
        with path.open("rb") as file:
            whole = file.read(MOST_BYTES + 1)
        if len(whole) > MOST_BYTES:
            raise ConfigError(f"`{path}` is longer than {MOST_BYTES // 2**20} MB: that is no run config.")
        text = whole.decode("utf-8-sig")
    except FileNotFoundError as err:
        beside = [p.name for p in path.parent.glob("*") if p.suffix in {".yaml", ".yml", ".json"}]
        match = nearest(path.name, beside)
        near = f" Did you mean `{path.with_name(match)}`?" if match else ""
        hint = f"ls {shlex.quote(str(path.parent))}" if match else "trace-bench init config mine.yaml"
        raise ConfigError(f"`{path}` does not exist.{near}", hint=hint) from err
    except UnicodeDecodeError as err:
        raise ConfigError(f"`{path}` is not UTF-8 text.") from err
    except OSError as err:
        raise ConfigError(f"`{path}` cannot be read: {err.strerror}.") from err
    return parse(text, origin=str(path), is_json=path.suffix == ".json")


def parse(text: str, *, origin: str, is_json: bool = False) -> Document:
    """Parse the text of a config; an empty one is an empty mapping.

    Raises:
        ConfigError: naming the line of every problem.
    """
    try:
        loaded = _load_json(text) if is_json else _load(text)
    except json.JSONDecodeError as err:
        raise ConfigError(f"`{origin}`, line {err.lineno}: not valid JSON: {err.msg}.") from err
    except (yaml.YAMLError, RecursionError, ValueError) as err:
        raise _syntax_error(err, text, origin) from err
    data = {} if loaded.data is None else loaded.data
    document = Document(origin, data, node=loaded.node, json_text=text if is_json else "")
    if isinstance(data, str) and (slip := find_slip(text, 1)) is not None:
        raise ConfigError(f"`{origin}`, line {slip.line}: {hide_keys(slip.words)}.", hint=HINT)
    if not isinstance(data, dict):
        named = (
            isinstance(data, list) and data and all(isinstance(entry, str) and _ID.fullmatch(entry) for entry in data)
        )
        works = f" Write `tasks: [{', '.join(data)}]`." if named else ""
        report([Problem((), f"must be a mapping of fields to values, not {render(data)}.{works}")], document)
    report([*loaded.mistakes, *unfit_for_json(data)], document)
    return document


def value(text: str) -> Any:
    """Parse one YAML value, as a command line gives it."""
    return _load(text).data


class _Loaded(NamedTuple):
    node: Node | None
    data: Any
    mistakes: list[Problem]


def _load(text: str) -> _Loaded:
    loader = Loader(text)
    try:
        node = loader.get_single_node()
        mistakes = [*_mistakes(node)]  # first: constructing writes merged keys into the nodes
        return _Loaded(node, None if node is None else loader.construct_document(node), mistakes)
    finally:
        loader.dispose()


def _load_json(text: str) -> _Loaded:
    """Take the values from the JSON parser. Lines, which it does not keep, cost forty times as much: only an error asks for them."""
    repeated = False

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        built = dict(pairs)
        repeated = repeated or len(built) < len(pairs)
        return built

    data = json.loads(text, object_pairs_hook=build) if text.strip() else None
    return _Loaded(None, data, [*_mistakes(_compose_json(text))] if repeated else [])


def _compose_json(text: str) -> Node | None:
    """Read JSON with the YAML parser, for its line numbers; None where YAML has no such text."""
    try:
        return cast("Node", yaml.compose(text.replace("\t", " "), Loader))
    except yaml.YAMLError:
        return None


def _syntax_error(err: Exception, text: str, origin: str) -> ConfigError:
    if isinstance(err, yaml.MarkedYAMLError):
        mark = err.problem_mark or err.context_mark
        line, words = (mark.line + 1 if mark else 1), str(err.problem or err.context)
    elif isinstance(err, yaml.reader.ReaderError):
        line, words = text[: err.position].count("\n") + 1, err.reason
    else:
        line, words = 1, str(err) or "nested too deeply"
    lines = text.splitlines() or [""]
    line = min(line, len(lines))
    if (slip := find_slip(text, line)) is not None:
        line, words = slip
    elif (secret := secret_of_line(lines[line - 1])) is not None:
        words = secret  # what YAML says may repeat it
    elif QUOTED.search(lines[line - 1]):
        words += "; text that holds `:`, `#`, `{` or `[` is written in quotes"
    return ConfigError(f"`{origin}`, line {line}: not valid YAML: {hide_keys(words)}.", hint=HINT)


def _child(node: Node, step: str | int) -> tuple[int, Node] | None:
    if isinstance(node, yaml.MappingNode):
        found = next(((k, v) for k, v in node.value if k.value == str(step)), None)
        return (found[0].start_mark.line + 1, found[1]) if found else None
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        item: Node = node.value[step]
        return item.start_mark.line + 1, item
    return None


def _mistakes(root: Node | None) -> Iterator[Problem]:
    """Yield a problem for what YAML takes in silence: a key twice, of which it keeps the last, and an entry that runs into the next."""
    waiting: list[tuple[Loc, Node]] = [((), root)] if root is not None else []
    seen: set[int] = set()
    while waiting:
        loc, node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting.extend(((*loc, i), item) for i, item in enumerate(node.value))
        elif isinstance(node, yaml.MappingNode):
            first: dict[str, int] = {}
            for key, item in node.value:
                name, line = str(key.value), key.start_mark.line + 1
                if name in first and key.tag != MERGE_TAG:
                    yield Problem((*loc, name), f"is written twice, first on line {first[name]}.", line=line)
                first.setdefault(name, line)
                waiting.append(((*loc, name), item))
        elif _runs_on(loc, node):
            head, _, rest = node.value.partition(" - ")
            yield Problem(
                loc,
                "runs into the next line, whose dash is indented further: "
                f"write `- {head}` and `- {rest}` with the dashes in one column.",
                line=node.start_mark.line + 2,
            )


def _runs_on(loc: Loc, node: Node) -> bool:
    """Whether an entry of a list is one text over several lines with a dash in it: two entries, of which the second stands too deep."""
    plain = isinstance(node, yaml.ScalarNode) and not node.style
    several = bool(plain and node.end_mark.line > node.start_mark.line)
    return several and bool(loc) and isinstance(loc[-1], int) and " - " in node.value


def unfit_for_json(data: Any) -> Iterator[Problem]:
    """Yield a problem for everything that JSON cannot hold: at most one for size and depth."""
    waiting: list[tuple[Loc, Any]] = [((), data)]
    count = 0
    while waiting:
        loc, item = waiting.pop()
        count += 1
        if count > MAX_VALUES or len(loc) > MAX_DEPTH:
            yield Problem(loc[:3], f"holds more than {MAX_VALUES:,} values or {MAX_DEPTH} levels, or refers to itself.")
            return
        if isinstance(item, dict):
            before: Any = None
            for key, held in item.items():
                if not isinstance(key, str):
                    comma = isinstance(key, int) and held is None and type(before) is int
                    words = f"a decimal comma? Write `{before}.{key}`" if comma else "keys are text, write it in quotes"
                    yield Problem(loc, f"has the key {render(key)}: {words}.")
                before = held
            waiting.extend(((*loc, str(key)), child) for key, child in item.items())
        elif isinstance(item, list | tuple):
            waiting.extend(((*loc, i), child) for i, child in enumerate(item))
        elif isinstance(item, float) and not math.isfinite(item):
            yield Problem(loc, f"is {item}: numbers in a config are finite.")
        elif isinstance(item, int) and abs(item) > sys.float_info.max:
            yield Problem(loc, "is a whole number of over 308 digits: no float is as large.")
        elif not (item is None or isinstance(item, str | int | float | bool)):
            yield Problem(loc, f"is a {type(item).__name__}, which a config cannot hold.")


WIDTH = 120


def dump_config(config: RunConfig) -> str:
    """Return the config as YAML, every field written out; `load_config` reads it back as an equal config."""
    text: str = yaml.dump(
        config.model_dump(mode="json"), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=WIDTH
    )
    return text
