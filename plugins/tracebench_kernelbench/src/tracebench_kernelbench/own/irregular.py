"""Sparse and irregular problems: what is read depends on the data."""

from __future__ import annotations

import numpy as np

from tracebench_kernelbench.problem import Array, Problem

_ROWS, _MOST = 8192, 65


def _spmv(start: np.ndarray, column: np.ndarray, value: np.ndarray, x: np.ndarray) -> np.ndarray:
    rows = np.repeat(np.arange(_ROWS), np.diff(start))
    used = start[-1]
    return np.bincount(rows, value[:used] * x[column[:used]], minlength=_ROWS)


def _segments(start: np.ndarray, value: np.ndarray) -> np.ndarray:
    rows = np.repeat(np.arange(4096), np.diff(start))
    return np.bincount(rows, np.tanh(value[: start[-1]]), minlength=4096)


PROBLEMS = (
    Problem(
        name="spmv",
        title="Product of a sparse matrix (CSR, rows of 0 to 64 numbers) and a vector",
        inputs=(
            Array("start", (_ROWS + 1,), kind="p", limit=_MOST),
            Array("column", (_ROWS * _MOST,), kind="i", limit=4096),
            Array("value", (_ROWS * _MOST,)),
            Array("x", (4096,)),
        ),
        output=Array("out", (_ROWS,)),
        reference=_spmv,
        flops=2 * _ROWS * _MOST / 2,
        source="""enum { ROWS = 8192 };

void kernel(const int* start, const int* column, const float* value, const float* x, float* out) {
  for (int i = 0; i < ROWS; i++) {
    float sum = 0;
    for (int k = start[i]; k < start[i + 1]; k++) sum += value[k] * x[column[k]];
    out[i] = sum;
  }
}
""",
    ),
    Problem(
        name="embedding_bag",
        title="Sum of 24 rows of a table, for each of 256 bags",
        inputs=(Array("table", (1024, 64)), Array("index", (256, 24), kind="i", limit=1024)),
        output=Array("out", (256, 64)),
        reference=lambda table, index: table[index].sum(1),
        flops=256 * 24 * 64,
        source="""enum { BAGS = 256, SIZE = 24, D = 64 };

void kernel(const float* table, const int* index, float* out) {
  for (int b = 0; b < BAGS; b++)
    for (int d = 0; d < D; d++) {
      float sum = 0;
      for (int k = 0; k < SIZE; k++) sum += table[index[b * SIZE + k] * D + d];
      out[b * D + d] = sum;
    }
}
""",
    ),
    Problem(
        name="histogram",
        title="How many of the numbers in [0, 1) fall into each of 64 bins",
        inputs=(Array("x", (262144,), low=0, high=1),),
        output=Array("out", (64,), kind="i"),
        reference=lambda x: np.bincount((x * 64).astype(np.int64), minlength=64),
        flops=2 * 262144,
        source="""enum { N = 262144, BINS = 64 };

void kernel(const float* x, int* out) {
  for (int b = 0; b < BINS; b++) out[b] = 0;
  for (int i = 0; i < N; i++) out[(int)(x[i] * BINS)]++;
}
""",
    ),
    Problem(
        name="segment_sum",
        title="Sum of tanh over each of 4096 segments of 0 to 16 numbers",
        inputs=(Array("start", (4097,), kind="p", limit=17), Array("value", (4096 * 17,), low=-2, high=2)),
        output=Array("out", (4096,)),
        reference=_segments,
        flops=6 * 4096 * 8,
        source="""#include <math.h>
enum { SEGMENTS = 4096 };

void kernel(const int* start, const float* value, float* out) {
  for (int s = 0; s < SEGMENTS; s++) {
    out[s] = 0;
    for (int k = start[s]; k < start[s + 1]; k++) out[s] += tanhf(value[k]);
  }
}
""",
    ),
    Problem(
        name="pairwise_distances",
        title="Distance of every pair of points in 32 dimensions",
        inputs=(Array("x", (160, 32)), Array("y", (160, 32))),
        output=Array("out", (160, 160)),
        reference=lambda x, y: np.sqrt(((x[:, None] - y[None]) ** 2).sum(2)),
        flops=3 * 160 * 160 * 32,
        rtol=2e-5,
        atol=2e-5,
        source="""#include <math.h>
enum { N = 160, D = 32 };

void kernel(const float* x, const float* y, float* out) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      float sum = 0;
      for (int d = 0; d < D; d++) sum += (x[i * D + d] - y[j * D + d]) * (x[i * D + d] - y[j * D + d]);
      out[i * N + j] = sqrtf(sum);
    }
}
""",
    ),
)
