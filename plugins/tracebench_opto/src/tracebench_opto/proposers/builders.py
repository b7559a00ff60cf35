"""Loaders of Trace's optimizers: `builder(problem, **settings)`."""

from __future__ import annotations

from typing import Any

from tracebench_core.contracts import Problem
from tracebench_opto.proposers.proposer import Recipe, TraceProposer
from tracebench_opto.proposers.settings import (
    OPROSettings,
    OptoPrimeMultiSettings,
    OptoPrimeMultiV2Settings,
    OptoPrimeSettings,
    TraceSettings,
)


def optoprime(problem: Problem, **settings: Any) -> TraceProposer:
    """OptoPrime (Trace, arXiv 2406.16218): one reply in JSON from the whole graph."""
    return TraceProposer(problem, Recipe("OptoPrime", code_names=True), OptoPrimeSettings(**settings))


def opro(problem: Problem, **settings: Any) -> TraceProposer:
    """OPRO (arXiv 2309.03409) as Trace has it: one reply in JSON from past values and their feedback."""
    return TraceProposer(problem, Recipe("OPRO", code_names=True, describes=False), OPROSettings(**settings))


def optoprime_multi(problem: Problem, **settings: Any) -> TraceProposer:
    """OptoPrime with several replies at falling temperatures; the last is taken."""
    return TraceProposer(problem, Recipe("OptoPrimeMulti", code_names=True), OptoPrimeMultiSettings(**settings))


def textgrad(problem: Problem, **settings: Any) -> TraceProposer:
    """TextGrad (arXiv 2406.07496) as Trace has it: criticism is asked for along the graph, then a new text for each parameter.

    The batch's inputs are no node of their own here: the optimizer would ask for criticism of them too.
    """
    recipe = Recipe("TextGrad", inputs=False, as_text=True, instructed=False)
    return TraceProposer(problem, recipe, TraceSettings(**settings))


def optoprime_v2(problem: Problem, **settings: Any) -> TraceProposer:
    """OptoPrimeV2 of newer builds: replies in XML."""
    return TraceProposer(problem, Recipe("OptoPrimeV2"), OptoPrimeSettings(**settings))


def opro_v2(problem: Problem, **settings: Any) -> TraceProposer:
    """OPROv2 of newer builds."""
    return TraceProposer(problem, Recipe("OPROv2"), OPROSettings(**settings))


def optoprime_multi_v2(problem: Problem, **settings: Any) -> TraceProposer:
    """OptoPrimeMultiV2 of newer builds."""
    return TraceProposer(problem, Recipe("OptoPrimeMultiV2"), OptoPrimeMultiV2Settings(**settings))
