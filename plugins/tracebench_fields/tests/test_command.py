"""What the command refuses before it draws a secret or prints a best, and labels of fields that deceive hardly at all."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from tests.full_disk import full_disk

from tracebench_core.errors import UsageError
from tracebench_fields.command import commit, optimum
from tracebench_fields.drawing import Drawing, draw, named_in


@pytest.mark.parametrize("deception", [0.0, 1e-12, 0.00001, 0.25, 1.0])
def test_a_label_names_its_field_however_little_it_deceives(deception: float) -> None:
    drawing = Drawing("prompt", "spring-2027.1", 3, "small", deception)
    assert named_in(f"Improve {drawing.label} it") == drawing


@pytest.mark.parametrize("release", ["open", "a/b", "../b", "", ".", "..", ".hidden", "a b", "/tmp/a"])
def test_a_secret_is_drawn_only_for_what_can_name_a_release(release: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a release"):
        commit(release, to=tmp_path / "in" / "here")
    assert [*tmp_path.iterdir()] == []


def test_a_file_in_the_place_of_the_folder_of_secrets_is_told(tmp_path: Path) -> None:
    (tmp_path / "s").touch()
    with pytest.raises(UsageError, match=r"s` is no folder and cannot become one: File exists\."):
        commit("spring-2027.1", to=tmp_path / "s")


def test_a_full_disk_leaves_no_part_of_a_secret_and_another_can_be_drawn(tmp_path: Path) -> None:
    with full_disk(5), pytest.raises(OSError, match="File too large"):
        commit("spring-2027.1", to=tmp_path)
    assert [*tmp_path.iterdir()] == []
    commit("spring-2027.1", to=tmp_path)
    assert (tmp_path / "spring-2027.1.secret").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("instance", "deception", "said"),
    [
        (-1, 0.5, "`instance: -1` and `deception: 0.5`"),
        (0, 1.01, "`deception: 1.01`"),
        (0, -0.1, "`deception: -0.1`"),
        (0, math.nan, "`deception: nan`"),
    ],
)
def test_a_field_that_no_task_has_has_no_best(instance: int, deception: float, said: str) -> None:
    with pytest.raises(UsageError, match=f"No task has .*{re.escape(said)}") as error:
        optimum("code", instance=instance, deception=deception)
    assert error.value.hint == "trace-bench fields optimum code --instance 0 --deception 0.25"


@pytest.mark.parametrize(("instance", "deception"), [(0, 0.0), (3, 1.0)])
def test_the_best_of_a_field_is_printed(instance: int, deception: float, capsys: pytest.CaptureFixture[str]) -> None:
    optimum("routes", instance=instance, size="small", deception=deception)
    assert json.loads(capsys.readouterr().out) == draw(Drawing("routes", "open", instance, "small", deception)).optimum
