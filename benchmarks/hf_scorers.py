"""Print what gold replies, accepted forms, echoes and lists of all options score on every row of a folder of data sets.

    python benchmarks/hf_scorers.py <folder with gsm8k/, bbeh/, …>

Exits with 1 when a gold reply or an accepted form scores less than 1, or an echo or list earns anything by a score of right or wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import fsum
from pathlib import Path

from tracebench_hfqa.declared import SHIPPED, read_entries
from tracebench_hfqa.entry import Entry
from tracebench_hfqa.families import find_family
from tracebench_hfqa.families.family import Case, within_reach
from tracebench_hfqa.rows.folder import ENDINGS, read_file
from tracebench_hfqa.rows.opening import read_cases
from tracebench_hfqa.running import run_tests
from tracebench_sandbox import LocalSandbox, open_sandbox

FORMS = ("The final answer is: {}", "The answer is: {}.", "**{}**", "{}.", "The final answer is: \\boxed{{{}}}.")


def list_all(case: Case) -> str:
    """Return a reply that names everything: all options, or a hundred numbers."""
    return "\n".join(f"({label}) {text}" for label, text in case.options) or " ".join(map(str, range(100)))


def files(root: Path) -> Iterator[tuple[Entry, Path]]:
    """Yield each data file with the entry of its folder."""
    for entry in read_entries(SHIPPED):
        for path in sorted((root / entry.id).glob("*")):
            if path.suffix in ENDINGS:
                yield entry, path


def worth(entry: Entry, case: Case, reply: str, sandbox: LocalSandbox) -> float:
    """Return the score of one reply."""
    family = find_family(entry.family)
    if family.sandboxed:
        here = type("Here", (), {"sandbox": sandbox})
        return run_tests(reply, case, here, seconds=entry.timeout).score
    return family.score(within_reach(reply), case).score


def main(root: Path) -> int:
    """Print a line a file; return the exit code."""
    bad = 0
    print(f"{'file':44} {'rows':>4} {'gold':>6} {'forms':>6} {'echo':>6} {'context':>7} {'list':>6}")
    with open_sandbox(require="process") as sandbox:
        for entry, path in files(root):
            family = find_family(entry.family)
            cases = list(read_cases(entry, "any", read_file(path), where=str(path)))
            replies = {
                "gold": [[family.gold_reply(c) for c in cases]],
                "forms": [[form.format(family.gold_reply(c)) for c in cases] for form in FORMS if not family.sandboxed],
                "echo": [[c.question for c in cases]],
                "context": [[f"{c.context}\n{c.question}" for c in cases]],
                "list": [[list_all(c) for c in cases]],
            }
            found = {
                name: min(
                    fsum(worth(entry, c, r, sandbox) for c, r in zip(cases, many, strict=True)) / len(cases)
                    for many in kinds
                )
                for name, kinds in replies.items()
                if kinds
            }
            graded = family.metric == "f1"  # partial credit is the authors' own
            bad += found["gold"] < 1 or found.get("forms", 1) < 1
            bad += not graded and any(found[name] for name in ("echo", "context", "list"))
            told = " ".join(f"{found[n]:6.3f}" if n in found else "     -" for n in replies)
            print(f"{f'{entry.id}/{path.name}':44} {len(cases):4} {told}")
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
