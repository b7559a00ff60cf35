"""The proposers that this plugin offers, as data; newer builds' own are offered where they are found."""

from __future__ import annotations

from tracebench_core.specs import OptimizerSpec, Requirement
from tracebench_opto.bridge import features

TRACE = "https://arxiv.org/abs/2406.16218"
OPRO = "https://arxiv.org/abs/2309.03409"
TEXTGRAD = "https://arxiv.org/abs/2406.07496"

_NEEDS = (Requirement(kind="module", name="opto", hint='pip install "tracebench-engine[opto]"'),)
_HERE = "tracebench_opto.proposers"


def _spec(
    name: str, builder: str, *, settings: str, title: str, citation: str = TRACE, calls: float = 1
) -> OptimizerSpec:
    return OptimizerSpec(
        name=name,
        loader=f"{_HERE}.builders:{builder}",
        settings=f"{_HERE}.settings:{settings}",
        title=title,
        requires=_NEEDS,
        preload=(f"{_HERE}.preload",),
        citation=citation,
        calls_per_proposal=calls,
    )


RELEASED = (
    _spec("OptoPrime", "optoprime", settings="OptoPrimeSettings", title="Trace's optimizer: reads the whole graph"),
    _spec("OPRO", "opro", settings="OPROSettings", title="Proposes from past values and feedback", citation=OPRO),
    _spec("OptoPrimeMulti", "optoprime_multi", settings="OptoPrimeMultiSettings", title="Several replies", calls=5),
    _spec("TextGrad", "textgrad", settings="TraceSettings", title="Textual gradients", citation=TEXTGRAD, calls=2),
)
NEWER = (
    _spec("OptoPrimeV2", "optoprime_v2", settings="OptoPrimeSettings", title="OptoPrime with replies in XML"),
    _spec("OPROv2", "opro_v2", settings="OPROSettings", title="OPRO with replies in XML", citation=OPRO),
    _spec(
        "OptoPrimeMultiV2",
        "optoprime_multi_v2",
        settings="OptoPrimeMultiV2Settings",
        title="OptoPrimeV2 with several replies",
        calls=4,
    ),
)


def optimizer_specs() -> tuple[OptimizerSpec, ...]:
    """Return the released proposers, and those of the installed build that are newer; imports nothing of opto."""
    found = features.optimizers()
    return (*RELEASED, *(spec for spec in NEWER if spec.name in found))
