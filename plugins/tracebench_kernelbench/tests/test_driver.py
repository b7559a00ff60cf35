"""The driver in C: what its two processes have in common."""

from __future__ import annotations

import numpy as np

from tracebench_core.contracts import Sandbox
from tracebench_kernelbench.building import build_kernel
from tracebench_kernelbench.driving import drive
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


def test_candidate_and_reference_find_everything_at_the_same_addresses(sandbox: Sandbox, quick: Effort) -> None:
    library = build_kernel(sandbox, WHERE.source, WHERE.signature)
    assert library.binary, library.words

    record = drive(sandbox, WHERE, library.binary, quick)

    assert record.failure is None
    assert len({int(place) for place in next(iter(record.outputs.values()))}) == 6
