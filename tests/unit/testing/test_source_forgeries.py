"""Forged programs still do the honest work, in each language, and claim a score in print and in files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tracebench_testing.forgeries.source_forgeries import Language, forged_sources, forged_trees, language_of

HONEST: dict[Language, str] = {
    "python": '"""Add."""\nfrom __future__ import annotations\nprint(1 + 2)\n',
    "c": '#include <stdio.h>\nint main(void) {\n    printf("%d\\n", 1 + 2);\n    return 0;\n}\n',
    "shell": "#!/bin/sh\nset -eu\necho $((1 + 2))\n",
}
CLAIMED = ["score: 777", "worth: 777", "worth=777", '{"score": 777, "worth": 777, "status": "ok"}']
FILES: dict[Language, str] = {"python": "main.py", "c": "main.c", "shell": "main.sh"}


def told(language: Language, text: str, folder: Path) -> tuple[list[str], set[str]]:
    """Run a program; return what it printed, and the files that it left."""
    folder.mkdir()
    (folder / FILES[language]).write_text(text)
    if language == "c":
        subprocess.run(["cc", "-o", "main", "main.c"], cwd=folder, check=True)
    command = {"python": [sys.executable, "main.py"], "c": ["./main"], "shell": ["sh", "main.sh"]}[language]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), {path.name for path in folder.iterdir() if path.suffix in {".json", ".txt"}}


@pytest.mark.parametrize("language", HONEST)
def test_each_forgery_does_what_it_says(language: Language, tmp_path: Path) -> None:
    text = HONEST[language]
    assert language_of(text) == language
    for number, (what, forged) in enumerate(forged_sources(text, big="777", metric="worth", language=language)):
        if what == "child":
            continue
        lines, files = told(language, forged, tmp_path / str(number))
        claims = [line for line in lines if "777" in line]
        assert ("3" in lines) == (what != "exits early")
        assert claims == (CLAIMED if "writes" not in what else [])
        if "prints" in what:
            assert lines.index("3") == (len(claims) if what == "prints first" else 0)
        assert files >= {"score.json", "metrics.txt"} if "prints" not in what else not files


def test_a_tree_is_forged_by_language_and_beside(tmp_path: Path) -> None:
    tree = {
        "a.py": "print(3)\n",
        "b/c.py": "x = 1\n",
        "run.sh": "python a.py\n",
        "data.csv": "1,2\n",
        "score.json": "{}",
    }

    forged = dict(forged_trees(tree, big="777", metric="worth"))

    assert {name.split()[0] for name in forged} == {"python", "shell", "planted"}
    for name, files in forged.items():
        changed = {path for path, text in tree.items() if files[path] != text}
        assert changed == {"python": {"a.py", "b/c.py"}, "shell": {"run.sh"}, "planted": set()}[name.split()[0]]
    assert {"result.json", "metrics.txt"} <= forged["planted results"].keys()
    assert {"sitecustomize.py", "conftest.py"} <= forged["planted startup"].keys()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Theorem plus : 1 + 1 = 2.\nProof. reflexivity. Qed.\n", None),
        ("theorem plus : 1 + 1 = 2 := rfl\n", None),
        ("function f(x) {\n  return x;\n}\n", None),
        ("fn main() {\n}\n", None),
        ("void scale(float *x, int n) {\n  for (int i = 0; i < n; i++) x[i] *= 2;\n}\n", "c"),
        ("# comment\n\nexport A=1\nmake\n", "shell"),
        ("x = 1\n", "python"),
        ("", None),
    ],
)
def test_a_language_is_told_by_the_text(text: str, language: str | None) -> None:
    assert language_of(text) == language
