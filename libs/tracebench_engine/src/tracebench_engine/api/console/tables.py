"""Tables for terminals: the columns that are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from tracebench_core.errors import UsageError
from tracebench_core.ids import nearest
from tracebench_engine.builtin.columns import Layout as Layout, laid_out as laid_out, wrapped as wrapped


def chosen(text: str | None, *tables: Sequence[str]) -> tuple[str, ...] | None:
    """Return the columns that `--columns a,b` names; None where it is not given.

    Raises:
        UsageError: one of them is in none of the tables, or no table has them all.
    """
    if text is None:
        return None
    known = list(dict.fromkeys(name for table in tables for name in table))
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names or ("",):
        if name not in known:
            guess = nearest(name, known)
            near = f" Did you mean `{guess}`?" if guess else ""
            raise UsageError(
                f"There is no column `{name}`.{near} There are: {', '.join(known)}.",
                hint=f"--columns '{guess or ','.join(known[:3])}'",
            )
    if not any({*names} <= {*table} for table in tables):
        raise UsageError(
            f"No table has all of {', '.join(f'`{name}`' for name in names)}. "
            f"Tables: {'; '.join(', '.join(table) for table in tables)}.",
            hint=f"--columns '{names[0]}'",
        )
    return names


def places_of(headers: Sequence[str], columns: Sequence[str] | None) -> list[int]:
    """Return where the chosen columns of a table stand, in their order; of all of them when none are chosen.

    There are none in a table that has not all of them: it is another table that is meant.
    """
    if columns is None:
        return [*range(len(headers))]
    return [headers.index(name) for name in columns] if {*columns} <= {*headers} else []
