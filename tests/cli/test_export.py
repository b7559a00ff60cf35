"""`export` names each file that it has written."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Cli

CONFIG = "tasks: [internal:numeric_param]\ntrainers: [NoOp]\nmode: stub\n"


def test_every_file_that_was_written_is_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)
    assert cli("run", "--config", "c.yaml", "-o", "run_id=r").returncode == 0

    done = cli("export", "r", "--format", "csv", "--to", "tables")
    written = sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "tables").iterdir())
    assert written
    assert sorted(done.stdout.split()) == written

    told = json.loads(cli("export", "r", "--format", "csv", "--to", "more", "--json").stdout)
    assert [Path(name).name for name in told["files"]] == [Path(name).name for name in done.stdout.split()]
