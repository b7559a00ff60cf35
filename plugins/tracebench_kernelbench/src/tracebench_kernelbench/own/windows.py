"""Convolutions, pooling and stencils."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view as view

from tracebench_kernelbench.problem import Array, Problem


def _jacobi(x: np.ndarray) -> np.ndarray:
    for _ in range(8):
        inner = x.copy()
        inner[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
        x = inner
    return x


PROBLEMS = (
    Problem(
        name="conv2d",
        title="Convolution of 8 channels of 34 x 34 with 8 filters of 3 x 3",
        inputs=(Array("x", (8, 34, 34)), Array("w", (8, 8, 3, 3))),
        output=Array("out", (8, 32, 32)),
        reference=lambda x, w: np.einsum("chwij,ocij->ohw", view(x, (3, 3), axis=(1, 2)), w, optimize=True),
        flops=2 * 8 * 32 * 32 * 8 * 9,
        source="""enum { C = 8, O = 8, H = 34, W = 34, R = 3 };

void kernel(const float* x, const float* w, float* out) {
  for (int o = 0; o < O; o++)
    for (int i = 0; i < H - R + 1; i++)
      for (int j = 0; j < W - R + 1; j++) {
        float sum = 0;
        for (int c = 0; c < C; c++)
          for (int p = 0; p < R; p++)
            for (int q = 0; q < R; q++) sum += x[(c * H + i + p) * W + j + q] * w[((o * C + c) * R + p) * R + q];
        out[(o * (H - R + 1) + i) * (W - R + 1) + j] = sum;
      }
}
""",
    ),
    Problem(
        name="conv1d_dilated",
        title="Convolution along time, 16 channels to 16, 3 taps 4 apart",
        inputs=(Array("x", (16, 520)), Array("w", (16, 16, 3))),
        output=Array("out", (16, 512)),
        reference=lambda x, w: np.einsum("cti,oci->ot", view(x, 9, axis=1)[:, :, ::4], w, optimize=True),
        flops=2 * 16 * 16 * 3 * 512,
        source="""enum { C = 16, O = 16, T = 520, TAPS = 3, STEP = 4, OUT = 512 };

void kernel(const float* x, const float* w, float* out) {
  for (int o = 0; o < O; o++)
    for (int t = 0; t < OUT; t++) {
      float sum = 0;
      for (int c = 0; c < C; c++)
        for (int k = 0; k < TAPS; k++) sum += x[c * T + t + k * STEP] * w[(o * C + c) * TAPS + k];
      out[o * OUT + t] = sum;
    }
}
""",
    ),
    Problem(
        name="conv2d_depthwise",
        title="Depthwise convolution: 24 channels of 70 x 70, a filter of 7 x 7 for each",
        inputs=(Array("x", (24, 70, 70)), Array("w", (24, 7, 7))),
        output=Array("out", (24, 64, 64)),
        reference=lambda x, w: np.einsum("chwij,cij->chw", view(x, (7, 7), axis=(1, 2)), w, optimize=True),
        flops=2 * 24 * 64 * 64 * 49,
        source="""enum { C = 24, H = 70, R = 7, S = 64 };

void kernel(const float* x, const float* w, float* out) {
  for (int c = 0; c < C; c++)
    for (int i = 0; i < S; i++)
      for (int j = 0; j < S; j++) {
        float sum = 0;
        for (int p = 0; p < R; p++)
          for (int q = 0; q < R; q++) sum += x[(c * H + i + p) * H + j + q] * w[(c * R + p) * R + q];
        out[(c * S + i) * S + j] = sum;
      }
}
""",
    ),
    Problem(
        name="max_pool",
        title="Greatest number of each window of 7 x 7, with overlap",
        inputs=(Array("x", (16, 70, 70)),),
        output=Array("out", (16, 64, 64)),
        reference=lambda x: view(x, (7, 7), axis=(1, 2)).max((3, 4)),
        flops=16 * 64 * 64 * 49,
        rtol=2e-5,
        atol=2e-5,
        source="""enum { C = 16, H = 70, S = 64, R = 7 };

void kernel(const float* x, float* out) {
  for (int c = 0; c < C; c++)
    for (int i = 0; i < S; i++)
      for (int j = 0; j < S; j++) {
        float most = x[(c * H + i) * H + j];
        for (int p = 0; p < R; p++)
          for (int q = 0; q < R; q++) {
            float y = x[(c * H + i + p) * H + j + q];
            if (y > most) most = y;
          }
        out[(c * S + i) * S + j] = most;
      }
}
""",
    ),
    Problem(
        name="moving_average",
        title="Average of each window of 63 numbers",
        inputs=(Array("x", (32, 1086)),),
        output=Array("out", (32, 1024)),
        reference=lambda x: view(x, 63, axis=1).mean(2),
        flops=2 * 32 * 1024,
        atol=3.5e-6,
        source="""enum { ROWS = 32, N = 1086, SPAN = 63, OUT = 1024 };

void kernel(const float* x, float* out) {
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < OUT; j++) {
      float sum = 0;
      for (int k = 0; k < SPAN; k++) sum += x[i * N + j + k];
      out[i * OUT + j] = sum / SPAN;
    }
}
""",
    ),
    Problem(
        name="jacobi",
        title="Eight steps of Jacobi's stencil on a grid whose rim stays",
        inputs=(Array("x", (192, 192)),),
        output=Array("out", (192, 192)),
        reference=_jacobi,
        flops=8 * 4 * 190 * 190,
        atol=7e-6,
        source="""#include <string.h>
enum { N = 192, STEPS = 8 };

void kernel(const float* x, float* out) {
  static float from[N * N];
  memcpy(out, x, sizeof from);
  for (int step = 0; step < STEPS; step++) {
    memcpy(from, out, sizeof from);
    for (int j = 1; j < N - 1; j++)
      for (int i = 1; i < N - 1; i++)
        out[i * N + j] = 0.25f * (from[(i - 1) * N + j] + from[(i + 1) * N + j] + from[i * N + j - 1] + from[i * N + j + 1]);
  }
}
""",
    ),
)
