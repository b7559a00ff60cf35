"""Normalisations, reductions and scans."""

from __future__ import annotations

import numpy as np

from tracebench_kernelbench.problem import Array, Problem

_ROWS, _N = 128, 512


def _exp(x: np.ndarray) -> np.ndarray:
    return np.exp(x - x.max(1, keepdims=True))


def _layernorm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * gain + bias


def _groupnorm(x: np.ndarray) -> np.ndarray:
    groups = x.reshape(-1, 4 * 512)
    return ((groups - groups.mean(1, keepdims=True)) / np.sqrt(groups.var(1, keepdims=True) + 1e-5)).reshape(x.shape)


def _entropy(x: np.ndarray, target: np.ndarray) -> np.ndarray:
    peak = x.max(1)
    return np.log(np.exp(x - peak[:, None]).sum(1)) + peak - x[np.arange(len(x)), target]


PROBLEMS = (
    Problem(
        name="softmax",
        title="Softmax of each row",
        inputs=(Array("x", (_ROWS, _N), low=-8, high=8),),
        output=Array("out", (_ROWS, _N)),
        reference=lambda x: _exp(x) / _exp(x).sum(1, keepdims=True),
        flops=6 * _ROWS * _N,
        atol=2.5e-7,
        source="""#include <math.h>
enum { ROWS = 128, N = 512 };

void kernel(const float* x, float* out) {
  for (int i = 0; i < ROWS; i++) {
    const float* row = x + i * N;
    float most = row[0], total = 0;
    for (int j = 1; j < N; j++) most = row[j] > most ? row[j] : most;
    for (int j = 0; j < N; j++) total += expf(row[j] - most);
    for (int j = 0; j < N; j++) out[i * N + j] = expf(row[j] - most) / total;
  }
}
""",
    ),
    Problem(
        name="log_softmax",
        title="Logarithm of the softmax of each row",
        inputs=(Array("x", (_ROWS, _N), low=-8, high=8),),
        output=Array("out", (_ROWS, _N)),
        reference=lambda x: x - x.max(1, keepdims=True) - np.log(_exp(x).sum(1, keepdims=True)),
        flops=5 * _ROWS * _N,
        source="""#include <math.h>
enum { ROWS = 128, N = 512 };

void kernel(const float* x, float* out) {
  for (int i = 0; i < ROWS; i++) {
    const float* row = x + i * N;
    float most = row[0], total = 0;
    for (int j = 1; j < N; j++) most = row[j] > most ? row[j] : most;
    for (int j = 0; j < N; j++) total += expf(row[j] - most);
    for (int j = 0; j < N; j++) out[i * N + j] = row[j] - most - logf(total);
  }
}
""",
    ),
    Problem(
        name="layernorm",
        title="Layer norm of each row, with gain and bias",
        inputs=(Array("x", (192, _N), low=-2, high=3), Array("gain", (_N,)), Array("bias", (_N,))),
        output=Array("out", (192, _N)),
        reference=_layernorm,
        flops=8 * 192 * _N,
        source="""#include <math.h>
enum { ROWS = 192, N = 512 };

void kernel(const float* x, const float* gain, const float* bias, float* out) {
  for (int i = 0; i < ROWS; i++) {
    const float* row = x + i * N;
    float mean = 0, spread = 0;
    for (int j = 0; j < N; j++) mean += row[j];
    mean /= N;
    for (int j = 0; j < N; j++) spread += (row[j] - mean) * (row[j] - mean);
    for (int j = 0; j < N; j++) out[i * N + j] = (row[j] - mean) / sqrtf(spread / N + 1e-5f) * gain[j] + bias[j];
  }
}
""",
    ),
    Problem(
        name="rmsnorm",
        title="Root-mean-square norm of each row, with gain",
        inputs=(Array("x", (256, _N)), Array("gain", (_N,), low=0.5, high=1.5)),
        output=Array("out", (256, _N)),
        reference=lambda x, gain: x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-6) * gain,
        flops=5 * 256 * _N,
        source="""#include <math.h>
enum { ROWS = 256, N = 512 };

void kernel(const float* x, const float* gain, float* out) {
  for (int i = 0; i < ROWS; i++) {
    float squares = 0;
    for (int j = 0; j < N; j++) squares += x[i * N + j] * x[i * N + j];
    for (int j = 0; j < N; j++) out[i * N + j] = x[i * N + j] / sqrtf(squares / N + 1e-6f) * gain[j];
  }
}
""",
    ),
    Problem(
        name="groupnorm",
        title="Group norm: 8 images of 32 channels in groups of 4",
        inputs=(Array("x", (8, 32, 512), low=-1, high=2),),
        output=Array("out", (8, 32, 512)),
        reference=_groupnorm,
        flops=7 * 8 * 32 * 512,
        source="""#include <math.h>
enum { GROUPS = 64, N = 2048 };

void kernel(const float* x, float* out) {
  for (int g = 0; g < GROUPS; g++) {
    const float* in = x + g * N;
    float mean = 0, spread = 0;
    for (int j = 0; j < N; j++) mean += in[j];
    mean /= N;
    for (int j = 0; j < N; j++) spread += (in[j] - mean) * (in[j] - mean);
    for (int j = 0; j < N; j++) out[g * N + j] = (in[j] - mean) / sqrtf(spread / N + 1e-5f);
  }
}
""",
    ),
    Problem(
        name="row_sums",
        title="Sum of each row",
        inputs=(Array("x", (512, 512)),),
        output=Array("out", (512,)),
        reference=lambda x: x.sum(1),
        flops=512 * 512,
        source="""enum { ROWS = 512, N = 512 };

void kernel(const float* x, float* out) {
  for (int i = 0; i < ROWS; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += x[i * N + j];
    out[i] = sum;
  }
}
""",
    ),
    Problem(
        name="column_variance",
        title="Variance of each column",
        inputs=(Array("x", (256, 512)),),
        output=Array("out", (512,)),
        reference=lambda x: x.var(0),
        flops=4 * 256 * 512,
        rtol=1e-5,
        atol=3e-6,
        source="""enum { ROWS = 256, N = 512 };

void kernel(const float* x, float* out) {
  for (int j = 0; j < N; j++) {
    float mean = 0, spread = 0;
    for (int i = 0; i < ROWS; i++) mean += x[i * N + j];
    mean /= ROWS;
    for (int i = 0; i < ROWS; i++) spread += (x[i * N + j] - mean) * (x[i * N + j] - mean);
    out[j] = spread / ROWS;
  }
}
""",
    ),
    Problem(
        name="argmax",
        title="Place of the greatest number of each row, the first of equal ones",
        inputs=(Array("x", (512, 384)),),
        output=Array("out", (512,), kind="i"),
        reference=lambda x: x.argmax(1),
        flops=512 * 384,
        source="""enum { ROWS = 512, N = 384 };

void kernel(const float* x, int* out) {
  for (int i = 0; i < ROWS; i++) {
    int best = 0;
    for (int j = 1; j < N; j++)
      if (x[i * N + j] > x[i * N + best]) best = j;
    out[i] = best;
  }
}
""",
    ),
    Problem(
        name="cross_entropy",
        title="Cross entropy of each row against its target class",
        inputs=(Array("x", (256, 256), low=-4, high=4), Array("target", (256,), kind="i", limit=256)),
        output=Array("out", (256,)),
        reference=_entropy,
        flops=4 * 256 * 256,
        rtol=2e-5,
        atol=2e-5,
        source="""#include <math.h>
enum { ROWS = 256, N = 256 };

void kernel(const float* x, const int* target, float* out) {
  for (int i = 0; i < ROWS; i++) {
    const float* row = x + i * N;
    float most = row[0], total = 0;
    for (int j = 1; j < N; j++) most = row[j] > most ? row[j] : most;
    for (int j = 0; j < N; j++) total += expf(row[j] - most);
    out[i] = logf(total) + most - row[target[i]];
  }
}
""",
    ),
    Problem(
        name="scan",
        title="Running sum of each row",
        inputs=(Array("x", (128, 1024)),),
        output=Array("out", (128, 1024)),
        reference=lambda x: np.cumsum(x, 1),
        flops=128 * 1024,
        rtol=1e-4,
        atol=1e-4,
        source="""enum { ROWS = 128, N = 1024 };

void kernel(const float* x, float* out) {
  for (int i = 0; i < ROWS; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) {
      sum += x[i * N + j];
      out[i * N + j] = sum;
    }
  }
}
""",
    ),
    Problem(
        name="scan_columns",
        title="Running product of each column, of numbers near 1",
        inputs=(Array("x", (256, 512), low=0.99, high=1.01),),
        output=Array("out", (256, 512)),
        reference=lambda x: np.cumprod(x, 0),
        flops=256 * 512,
        source="""enum { ROWS = 256, N = 512 };

void kernel(const float* x, float* out) {
  for (int j = 0; j < N; j++) {
    float product = 1;
    for (int i = 0; i < ROWS; i++) {
      product *= x[i * N + j];
      out[i * N + j] = product;
    }
  }
}
""",
    ),
)
