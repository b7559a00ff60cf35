"""The programs under optimisation: what they are made of, and how they ask the model."""

from __future__ import annotations

from tracebench_hfqa.entry import ProgramName
from tracebench_hfqa.programs.base import Program
from tracebench_hfqa.programs.code import CodeProgram
from tracebench_hfqa.programs.few_shot import FewShot
from tracebench_hfqa.programs.instructions import ChainOfThought, Instructions
from tracebench_hfqa.programs.template import Template
from tracebench_hfqa.programs.tools import Tools
from tracebench_hfqa.programs.two_hop import TwoHop

PROGRAMS: dict[ProgramName, type[Program]] = {
    "instructions": Instructions,
    "chain_of_thought": ChainOfThought,
    "few_shot": FewShot,
    "two_hop": TwoHop,
    "template": Template,
    "code": CodeProgram,
    "tools": Tools,
}
