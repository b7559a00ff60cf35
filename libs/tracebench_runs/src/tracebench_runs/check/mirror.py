"""`mirror.zip`: second copies of the files that say what a run is, so that any one of them can be lost."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path

from tracebench_core.errors import RunDirError
from tracebench_core.ids import content_hash
from tracebench_runs.journal.journal import Journal
from tracebench_runs.journal.trust import Trust
from tracebench_runs.meta.salt_files import gives_away
from tracebench_runs.storage import files
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.regular import open_regular, read_whole
from tracebench_runs.storage.seal import seal_of
from tracebench_runs.storage.sharing import is_withheld

_NO_DATE = (1980, 1, 1, 0, 0, 0)


def declare_meta(layout: RunLayout, journal: Journal) -> None:
    """Copy the files of `meta/` to the mirror and have the journal vouch for them."""
    write_mirror(layout)
    journal.opened({path: seal for path, file in layout.described().items() if (seal := seal_of(file)) is not None})


def write_mirror(layout: RunLayout) -> None:
    """Write the mirror from the files that are there; the same files make the same mirror."""
    buffer = io.BytesIO()
    private = False
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as mirror:
        for path, file in layout.described().items():
            if file.is_file():
                content = read_whole(file)
                private = private or gives_away(layout, file, content)
                mirror.writestr(zipfile.ZipInfo(path, _NO_DATE), content, zipfile.ZIP_DEFLATED)
    files.write_whole(layout.mirror, buffer.getvalue(), durable=True, private=private)


def mirrored(layout: RunLayout, path: str, *, trust: Trust) -> bytes | None:
    """Return the second copy of a file, None when there is none that the journal vouches for."""
    try:
        with open_regular(layout.mirror) as file, zipfile.ZipFile(file) as mirror:
            data = mirror.read(path)
    except (OSError, KeyError, ValueError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error):
        return None
    known = trust.meta.get(path)
    return data if known is None or content_hash(data) in known else None


def is_mirror_true(layout: RunLayout, *, trust: Trust) -> bool:
    """Say whether the mirror holds what `meta/` holds; of a run that never had one, nothing is missing, and of
    one that its owner alone reads, nothing is known."""
    if not trust.meta or is_withheld(layout.mirror):
        return True
    return all(
        mirrored(layout, path, trust=trust) == read_whole(file)
        for path, file in layout.described().items()
        if path in trust.meta and file.is_file()
    )


def restore(layout: RunLayout, path: str, *, trust: Trust) -> None:
    """Write a file of `meta/` anew from its second copy.

    Raises:
        RunDirError: when there is none.
    """
    data = mirrored(layout, path, trust=trust)
    if data is None:
        raise RunDirError(f"`{layout.mirror}` holds no sound copy of `{path}`")
    target: Path = layout.path / path
    files.make_dir(target.parent)
    files.write_whole(target, data, durable=True, private=gives_away(layout, target, data))
