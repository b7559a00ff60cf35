"""Functions of single numbers, in chains that want to be one pass."""

from __future__ import annotations

import numpy as np

from tracebench_kernelbench.problem import Array, Problem

_COUNT = 65536


def _gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


PROBLEMS = (
    Problem(
        name="gelu",
        title="GELU in its tanh form",
        inputs=(Array("x", (_COUNT,), low=-4, high=4),),
        output=Array("out", (_COUNT,)),
        reference=_gelu,
        flops=10 * _COUNT,
        source="""#include <math.h>
enum { N = 65536 };

void kernel(const float* x, float* out) {
  for (int i = 0; i < N; i++) {
    float y = x[i];
    out[i] = 0.5f * y * (1 + tanhf(0.79788456f * (y + 0.044715f * y * y * y)));
  }
}
""",
    ),
    Problem(
        name="gelu_chain",
        title="GELU, scaled, shifted, and GELU again",
        inputs=(Array("x", (32768,), low=-3, high=3), Array("shift", (128,))),
        output=Array("out", (32768,)),
        reference=lambda x, shift: _gelu(1.5 * _gelu(x.reshape(-1, 128)) + shift),
        flops=22 * 32768,
        source="""#include <math.h>
enum { ROWS = 256, N = 128 };

static float gelu(float y) {
  return 0.5f * y * (1 + tanhf(0.79788456f * (y + 0.044715f * y * y * y)));
}

void kernel(const float* x, const float* shift, float* out) {
  static float first[ROWS * N], second[ROWS * N];
  for (int i = 0; i < ROWS * N; i++) first[i] = gelu(x[i]);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < N; j++) second[i * N + j] = 1.5f * first[i * N + j] + shift[j];
  for (int i = 0; i < ROWS * N; i++) out[i] = gelu(second[i]);
}
""",
    ),
    Problem(
        name="swiglu",
        title="SwiGLU: a * sigmoid(a) * b",
        inputs=(Array("a", (_COUNT,), low=-6, high=6), Array("b", (_COUNT,))),
        output=Array("out", (_COUNT,)),
        reference=lambda a, b: a / (1 + np.exp(-a)) * b,
        flops=8 * _COUNT,
        source="""#include <math.h>
enum { N = 65536 };

void kernel(const float* a, const float* b, float* out) {
  for (int i = 0; i < N; i++) out[i] = a[i] / (1 + expf(-a[i])) * b[i];
}
""",
    ),
    Problem(
        name="mish",
        title="Mish: x * tanh(log(1 + exp(x)))",
        inputs=(Array("x", (32768,), low=-5, high=5),),
        output=Array("out", (32768,)),
        reference=lambda x: x * np.tanh(np.log1p(np.exp(x))),
        flops=12 * 32768,
        source="""#include <math.h>
enum { N = 32768 };

void kernel(const float* x, float* out) {
  for (int i = 0; i < N; i++) out[i] = x[i] * tanhf(log1pf(expf(x[i])));
}
""",
    ),
    Problem(
        name="transpose",
        title="Transposed matrix, scaled by row",
        inputs=(Array("x", (512, 384)), Array("scale", (512,))),
        output=Array("out", (384, 512)),
        reference=lambda x, scale: (x * scale[:, None]).T,
        flops=512 * 384,
        atol=1.5e-5,
        source="""enum { M = 512, N = 384 };

void kernel(const float* x, const float* scale, float* out) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) out[j * M + i] = x[i * N + j] * scale[i];
}
""",
    ),
)
