"""What the model is shown: the program, the task, the files, and the experiments so far."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tracebench_core.specs import Message

MARK = "Reply with one line `Hypothesis: …`"
PROGRAM = (Path(__file__).parent / "program.md").read_text(encoding="utf-8")
FORMAT = f"""\
{MARK}, then the edit as search-and-replace blocks. The text after SEARCH must be in the file exactly once:

path/of/file.py
<<<<<<< SEARCH
the lines that are there
=======
the lines that replace them
>>>>>>> REPLACE

A unified diff is understood, too, and so is a whole file: a line `FILE: path/of/file.py`, then its text in a fenced block."""
_LONGEST_WORDS = 4000
_SHOWN = re.compile(
    r"^## File `(?P<path>[^`\n]+)`\n(?P<fence>`{3,})\n(?P<text>.*?)\n(?P=fence)$", re.DOTALL | re.MULTILINE
)


def build_prompt(
    *,
    program: str,
    objective: str,
    files: Mapping[str, str],
    tried: Sequence[str],
    last: str,
    notes: Sequence[str],
    form: bool = True,
) -> list[Message]:
    """Return the messages that ask for the next experiment. `form` is left out for an agent, which edits by itself."""
    system = f"{program.strip() or PROGRAM}\n\n{FORMAT}" if form else program.strip() or PROGRAM
    sections = [f"# Task\n{objective}", "# Files\n" + "\n\n".join(_file(path, text) for path, text in files.items())]
    if tried:
        sections.append("# Experiments so far, oldest first\n" + "\n".join(f"- {line}" for line in tried))
    if last:
        sections.append(f"# The last experiment\n{last[-_LONGEST_WORDS:]}")
    if notes:
        sections.append("# Mind\n" + "\n".join(f"- {note}" for note in notes))
    sections.append(f"# Now\n{PROPOSE if form else EDIT}")
    return [{"role": "system", "content": system}, {"role": "user", "content": "\n\n".join(sections)}]


PROPOSE = "Propose the next experiment on the files as they stand above."
EDIT = (
    "Make the next experiment: edit the files in this folder, which are as they stand above, and write in one sentence what you try to "
    "`$AGENT_NOTES/hypothesis.txt`. It is measured once you end."
)


def shown_files(prompt: str) -> dict[str, str]:
    """Return the files that a prompt shows."""
    return {match["path"]: match["text"] for match in _SHOWN.finditer(prompt)}


def _file(path: str, text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"## File `{path}`\n{fence}\n{text}\n{fence}"
