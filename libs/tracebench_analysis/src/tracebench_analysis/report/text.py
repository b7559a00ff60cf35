"""The report for other readers: Markdown for people, JUnit for CI."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from tracebench_analysis.comparison.outcomes import ENDED, unscored
from tracebench_analysis.comparison.sentences import next_step, remarks, verdict_sentence
from tracebench_analysis.comparison.verdicts import Comparison
from tracebench_analysis.report.sections import Section, sections
from tracebench_runs.reading.reader import Run

_UNSEEN = dict.fromkeys(
    (*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFFFE, 0xFFFF),
    "\N{REPLACEMENT CHARACTER}",
)  # fmt: skip
"""What drives terminals, turns the direction of writing, or may not stand in XML."""
_MARKS = re.compile(r"([\\`*\[\]!|#~&]|(?<![^\W_])_|_(?![^\W_]))")
_LINK = re.compile(r"\b(?:https?|ftp|mailto|xmpp):|\bwww(?=\.)|\w(?=@)|@(?=\w)", re.IGNORECASE)


def render_markdown(runs: Sequence[Run], comparison: Comparison) -> str:
    """Return the verdict and all tables as Markdown."""
    step = next_step(comparison)
    said = [*remarks(comparison), *([step] if step else [])]
    parts = [
        f"# {_cell(', '.join(comparison.runs))}",
        f"**{_cell(verdict_sentence(comparison))}**",
        "\n".join(f"* {_cell(remark)}" for remark in said),
        *(_table(section) for section in sections(runs, comparison)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def render_junit(comparison: Comparison) -> str:
    """Return one test case per job that ended: one without a score is a failure, one that was not run is skipped."""
    root = ET.Element("testsuites")
    for task in comparison.outcomes.tasks:
        outcomes = [o for o in comparison.outcomes.outcomes if o.task == task]
        failed = unscored(outcomes)
        skipped = [o for o in outcomes if o.status not in ENDED]
        suite = ET.SubElement(root, "testsuite", name=_xml(task), tests=str(len(outcomes)))
        suite.set("failures", str(len(failed)))
        suite.set("skipped", str(len(skipped)))
        for o in outcomes:
            name = f"{o.entrant} seed {o.seed}"
            case = ET.SubElement(suite, "testcase", classname=_xml(task), name=_xml(name), time=f"{o.seconds:.3f}")
            if o.status not in ENDED:
                ET.SubElement(case, "skipped", message=_xml(o.status))
            elif o.score is None:
                ET.SubElement(case, "failure", message=_xml(o.status), type=_xml(o.stop_reason)).text = _xml(o.error)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _table(section: Section) -> str:
    lines = [f"## {_cell(section.title)}"] + ([_cell(section.note)] if section.note else [])
    table = ["| " + " | ".join(map(_cell, section.headers)) + " |", "|" + " --- |" * len(section.headers)]
    table += ["| " + " | ".join(map(_cell, row)) + " |" for row in section.rows]
    return "\n\n".join([*lines, "\n".join(table)])


def _cell(text: str) -> str:
    """Return text that Markdown shows as it is, on one line: no markup, no picture or link, no address that a forge makes one."""
    shown = _LINK.sub("\\g<0>\N{WORD JOINER}", " ".join(text.translate(_UNSEEN).split()))
    return _MARKS.sub(r"\\\1", shown).replace("<", "&lt;")


def _xml(text: str) -> str:
    return text.translate(_UNSEEN).encode("utf-8", "replace").decode()
