"""The driver in C: what its two processes have in common."""

from __future__ import annotations

import numpy as np

from tracebench_core.contracts import Sandbox
from tracebench_kernelbench.building import build_kernel
from tracebench_kernelbench.driving import PAIRS, drive
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.problem import Array, Problem

WHERE = Problem(
    name="where",
    title="Where everything lies",
    inputs=(Array("x", (5000,)), Array("y", (3000,))),
    output=Array("out", (6,), kind="i"),
    reference=lambda x, _y: np.zeros(6),
    flops=1,
    rtol=0.0,
    atol=0.0,
    source="""#include <math.h>
#include <stdint.h>

void kernel(const float* x, const float* y, int* out) {
  float (*volatile function)(float) = sinf;
  const void* places[] = {x, y, out, (const void*)(uintptr_t)&kernel, (const void*)(uintptr_t)function, __builtin_frame_address(0)};
  for (int i = 0; i < 6; i++) out[i] = (int)((uintptr_t)places[i] >> 4);
}
""",
)


def test_a_kernel_begins_where_a_line_of_the_cache_begins_whatever_lies_before_it(
    sandbox: Sandbox, quick: Effort
) -> None:
    before = '__asm__(".text\\n.skip 13, 0x90");\n'
    lines = set()
    for source in (WHERE.source, before + WHERE.source):
        library = build_kernel(sandbox, source, WHERE.signature)
        record = drive(sandbox, WHERE, library.binary, quick)
        lines |= {int(places[3]) % 4 for places in record.outputs.values()}

    assert lines == {0}


def test_each_pair_of_processes_is_a_new_one(sandbox: Sandbox, quick: Effort) -> None:
    remembers = WHERE.source.replace("void kernel", "static int calls;\nvoid kernel").replace(
        "(int)((uintptr_t)places[i] >> 4)", f"calls++ < {6 * (quick.warm + 2)} ? (int)((uintptr_t)places[i] >> 4) : -1"
    )
    library = build_kernel(sandbox, remembers, WHERE.signature)

    record = drive(sandbox, WHERE, library.binary, quick)

    assert record.failure is None  # the last call of one process; a count that went on would end it in the second pair
    assert [len(turns) for turns in record.spent] == [2] * PAIRS


def test_candidate_and_reference_find_everything_at_the_same_addresses(sandbox: Sandbox, quick: Effort) -> None:
    library = build_kernel(sandbox, WHERE.source, WHERE.signature)
    assert library.binary, library.words

    record = drive(sandbox, WHERE, library.binary, quick)

    assert record.failure is None
    assert len({int(place) for place in next(iter(record.outputs.values()))}) == 6
