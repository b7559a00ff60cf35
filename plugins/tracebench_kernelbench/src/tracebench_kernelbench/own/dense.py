"""Products of matrices, alone and with what is usually fused behind them."""

from __future__ import annotations

import numpy as np

from tracebench_kernelbench.problem import Array, Problem

_N = 128


def _gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


PROBLEMS = (
    Problem(
        name="matmul",
        title="Product of two square matrices",
        inputs=(Array("a", (_N, _N)), Array("b", (_N, _N))),
        output=Array("out", (_N, _N)),
        reference=lambda a, b: a @ b,
        flops=2 * _N**3,
        source="""enum { N = 128 };

void kernel(const float* a, const float* b, float* out) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      float sum = 0;
      for (int k = 0; k < N; k++) sum += a[i * N + k] * b[k * N + j];
      out[i * N + j] = sum;
    }
}
""",
    ),
    Problem(
        name="matmul_transposed",
        title="Product with a transposed matrix: rows times rows",
        inputs=(Array("a", (96, 256)), Array("b", (96, 256))),
        output=Array("out", (96, 96)),
        reference=lambda a, b: a @ b.T,
        flops=2 * 96 * 96 * 256,
        source="""enum { M = 96, K = 256 };

void kernel(const float* a, const float* b, float* out) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < M; j++) {
      float sum = 0;
      for (int k = 0; k < K; k++) sum += a[i * K + k] * b[j * K + k];
      out[i * M + j] = sum;
    }
}
""",
    ),
    Problem(
        name="matmul_batched",
        title="Products of 32 pairs of small matrices",
        inputs=(Array("a", (32, 32, 32)), Array("b", (32, 32, 32))),
        output=Array("out", (32, 32, 32)),
        reference=lambda a, b: a @ b,
        flops=2 * 32**4,
        source="""enum { B = 32, N = 32 };

void kernel(const float* a, const float* b, float* out) {
  for (int m = 0; m < B; m++)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        float sum = 0;
        for (int k = 0; k < N; k++) sum += a[(m * N + i) * N + k] * b[(m * N + k) * N + j];
        out[(m * N + i) * N + j] = sum;
      }
}
""",
    ),
    Problem(
        name="matmul_triangular",
        title="Product of a lower triangular matrix, whose upper half is ignored, and a matrix",
        inputs=(Array("a", (160, 160)), Array("b", (160, 96))),
        output=Array("out", (160, 96)),
        reference=lambda a, b: np.tril(a) @ b,
        flops=160 * 161 * 96,
        source="""enum { N = 160, P = 96 };

void kernel(const float* a, const float* b, float* out) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < P; j++) {
      float sum = 0;
      for (int k = 0; k < N; k++) sum += k <= i ? a[i * N + k] * b[k * P + j] : 0;
      out[i * P + j] = sum;
    }
}
""",
    ),
    Problem(
        name="matvec",
        title="Product of a matrix and a vector",
        inputs=(Array("a", (768, 512)), Array("x", (512,))),
        output=Array("out", (768,)),
        reference=lambda a, x: a @ x,
        flops=2 * 768 * 512,
        source="""enum { M = 768, N = 512 };

void kernel(const float* a, const float* x, float* out) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += a[i * N + j] * x[j];
    out[i] = sum;
  }
}
""",
    ),
    Problem(
        name="linear_gelu",
        title="Linear layer with bias and GELU (tanh form), fused",
        inputs=(Array("x", (64, 128)), Array("w", (128, 128), low=-0.25, high=0.25), Array("bias", (128,))),
        output=Array("out", (64, 128)),
        reference=lambda x, w, bias: _gelu(x @ w + bias),
        flops=2 * 64 * 128 * 128,
        atol=3.5e-5,
        source="""#include <math.h>
enum { M = 64, N = 128 };

void kernel(const float* x, const float* w, const float* bias, float* out) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      float sum = bias[j];
      for (int k = 0; k < N; k++) sum += x[i * N + k] * w[k * N + j];
      out[i * N + j] = 0.5f * sum * (1 + tanhf(0.79788456f * (sum + 0.044715f * sum * sum * sum)));
    }
}
""",
    ),
    Problem(
        name="linear_residual_relu",
        title="Linear layer, scaled, added to its input and cut at zero, fused",
        inputs=(Array("x", (96, 112)), Array("w", (112, 112))),
        output=Array("out", (96, 112)),
        reference=lambda x, w: np.maximum(x + 0.5 * (x @ w), 0),
        flops=2 * 96 * 112 * 112,
        source="""enum { M = 96, N = 112 };

void kernel(const float* x, const float* w, float* out) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      float sum = 0;
      for (int k = 0; k < N; k++) sum += x[i * N + k] * w[k * N + j];
      float y = x[i * N + j] + 0.5f * sum;
      out[i * N + j] = y > 0 ? y : 0;
    }
}
""",
    ),
    Problem(
        name="attention",
        title="Attention of one head: softmax(q kᵀ / 8) v",
        inputs=(Array("q", (96, 64)), Array("k", (96, 64)), Array("v", (96, 64))),
        output=Array("out", (96, 64)),
        reference=lambda q, k, v: _softmax(q @ k.T / 8) @ v,
        flops=4 * 96 * 96 * 64,
        atol=3e-6,
        source="""#include <math.h>
enum { T = 96, D = 64 };

void kernel(const float* q, const float* k, const float* v, float* out) {
  for (int i = 0; i < T; i++) {
    float weight[T], most = -INFINITY, total = 0;
    for (int j = 0; j < T; j++) {
      float sum = 0;
      for (int d = 0; d < D; d++) sum += q[i * D + d] * k[j * D + d];
      weight[j] = sum / 8;
      if (weight[j] > most) most = weight[j];
    }
    for (int j = 0; j < T; j++) {
      weight[j] = expf(weight[j] - most);
      total += weight[j];
    }
    for (int d = 0; d < D; d++) {
      float sum = 0;
      for (int j = 0; j < T; j++) sum += weight[j] * v[j * D + d];
      out[i * D + d] = sum / total;
    }
  }
}
""",
    ),
    Problem(
        name="attention_causal",
        title="Causal attention of two heads: each row looks at itself and at earlier rows",
        inputs=(Array("q", (2, 80, 32)), Array("k", (2, 80, 32)), Array("v", (2, 80, 32))),
        output=Array("out", (2, 80, 32)),
        reference=lambda q, k, v: (
            _softmax(np.where(np.tri(80, dtype=bool), q @ k.transpose(0, 2, 1) * 0.25, -np.inf)) @ v
        ),
        flops=2 * 2 * 80 * 81 * 32,
        atol=7e-6,
        source="""#include <math.h>
enum { H = 2, T = 80, D = 32 };

void kernel(const float* q, const float* k, const float* v, float* out) {
  for (int h = 0; h < H; h++, q += T * D, k += T * D, v += T * D, out += T * D)
    for (int i = 0; i < T; i++) {
      float weight[T], most = -INFINITY, total = 0;
      for (int j = 0; j < T; j++) {
        float sum = 0;
        for (int d = 0; d < D; d++) sum += q[i * D + d] * k[j * D + d];
        weight[j] = j <= i ? sum * 0.25f : -INFINITY;
        if (weight[j] > most) most = weight[j];
      }
      for (int j = 0; j < T; j++) {
        weight[j] = expf(weight[j] - most);
        total += weight[j];
      }
      for (int d = 0; d < D; d++) {
        float sum = 0;
        for (int j = 0; j < T; j++) sum += weight[j] * v[j * D + d];
        out[i * D + d] = sum / total;
      }
    }
}
""",
    ),
)
