"""From what a user writes to full task ids: prefixes and their aliases, bare ids, short forms, groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from tracebench_core.errors import NothingSelectedError, PluginError, UsageError
from tracebench_core.ids import did_you_mean
from tracebench_core.plugins.host import PluginHost
from tracebench_core.plugins.installing import install_hint
from tracebench_core.specs import TaskSpec


def resolve_task_ids(host: PluginHost, written: str) -> list[str]:
    """Return the full ids that `written` means, in the suite's order.

    `./file.py:name` is what that file holds. `suite:name` is itself; `suite:group`, `suite:all` (or `suite:*`) and `suite:num*` expand; the
    last segment of a name is enough where only one task of the suite ends in it; an unlisted name is its suite's to know; without a
    prefix, suites that own bare ids are asked first, then all.

    Raises:
        UsageError: when nothing, or more than one thing, could be meant.
    """
    prefix, colon, rest = written.partition(":")
    if not colon:
        return _resolve_bare(host, written)
    if other := host.id_in_file(written) or (prefix not in host.records and host.task_by_other_name(written)):
        return [other]
    suite = prefix if prefix in host.records else _suite_by_alias(host, prefix)
    tasks = host.suite_tasks(suite)
    if found := _match(suite, rest, tasks):
        return found
    if other := host.task_by_other_name(written):
        return [other]
    record = host.records[suite]
    if record.status != "loaded":
        raise PluginError(
            f"Task `{written}`: plugin `{suite}` is not loaded: {record.error}", hint="trace-bench plugins"
        )
    if rest in {"all", "*"} and suite in host.catalog().suites:
        raise NothingSelectedError(
            f"Suite `{suite}` offers no task here.", hint=f"trace-bench list-tasks --bench {suite}"
        )
    if "*" in rest or "?" in rest:
        raise UsageError(
            f"No task of `{suite}` is called like `{rest}`.", hint=f"trace-bench list-tasks --bench {suite}"
        )
    if len(_ending_in(rest, tasks)) > 1:
        raise UsageError(f"`{written}` means more than one task of `{suite}`.{did_you_mean(rest, tasks)}")
    if other := _by_alias(host, written, rest):
        return [other]
    host.task(f"{suite}:{rest}")
    return [f"{suite}:{rest}"]


def _resolve_bare(host: PluginHost, name: str) -> list[str]:
    catalog = host.catalog()
    suites = dict.fromkeys(task_id.partition(":")[0] for task_id in catalog.tasks)
    owners = [s for s in suites if s in catalog.suites and catalog.suites[s].owns_bare_ids]
    for candidates in (owners, [s for s in suites if s not in owners]):
        found = {s: ids for s in candidates if (ids := _match(s, name, host.suite_tasks(s)))}
        if len(found) == 1:
            return next(iter(found.values()))
        if found:
            raise UsageError(f"Task `{name}` is ambiguous: {', '.join(f'`{i[0]}`' for i in found.values())}.")
    if other := host.task_by_other_name(name):
        return [other]
    suite = next((s for s, spec in catalog.suites.items() if name in {s, *spec.aliases}), None)
    if suite is not None:
        raise UsageError(
            f"`{name}` is a suite; `{suite}:all` is all of its tasks.", hint=f"trace-bench list-tasks --bench {suite}"
        )
    every = host.catalog().tasks
    short = {i.rpartition("/")[2].rpartition(":")[2]: i for i in every}
    near = did_you_mean(name, [*every, *short])
    raise UsageError(f"There is no task `{name}`.{near}", hint="trace-bench list-tasks")


def _suite_by_alias(host: PluginHost, prefix: str) -> str:
    suites = host.catalog().suites
    for suite, spec in suites.items():
        if prefix in spec.aliases:
            return suite
    known = [*host.records, *(alias for spec in suites.values() for alias in spec.aliases)]
    near = did_you_mean(prefix, known)
    raise UsageError(
        f"No plugin provides the suite `{prefix}`.{near}",
        hint="trace-bench list-suites" if near else install_hint(prefix),
    )


def _by_alias(host: PluginHost, written: str, name: str) -> str | None:
    """Return the task that another suite offers under this id; plugins that announce the name are loaded first."""
    for tasks in (host.announced_tasks(name), host.catalog().tasks):
        if found := next((i for i, spec in tasks.items() if written in spec.aliases), None):
            return found
    return None


def _match(suite: str, rest: str, tasks: Mapping[str, TaskSpec]) -> list[str]:
    if f"{suite}:{rest}" in tasks:
        return [f"{suite}:{rest}"]
    if rest in {"all", "*"}:
        return list(tasks)
    if "*" in rest or "?" in rest:
        return [i for i in tasks if fnmatchcase(i.partition(":")[2], rest)]
    if group := [i for i, spec in tasks.items() if rest in spec.groups]:
        return group
    short = _ending_in(rest, tasks)
    return short if len(short) == 1 else []


def _ending_in(rest: str, tasks: Iterable[str]) -> list[str]:
    return [i for i in tasks if i.endswith(f"/{rest}")]
