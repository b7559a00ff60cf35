"""The suite's tasks as data; light, so that listing them imports no numpy."""

from __future__ import annotations

from collections.abc import Iterator

from tracebench_core.specs import Requirement, TaskSizes, TaskSpec, TaskVersion

OWN: dict[str, dict[str, str]] = {
    "dense": {
        "matmul": "Product of two square matrices",
        "matmul_transposed": "Product with a transposed matrix: rows times rows",
        "matmul_batched": "Products of 32 pairs of small matrices",
        "matmul_triangular": "Product of a lower triangular matrix, whose upper half is ignored, and a matrix",
        "matvec": "Product of a matrix and a vector",
        "linear_gelu": "Linear layer with bias and GELU (tanh form), fused",
        "linear_residual_relu": "Linear layer, scaled, added to its input and cut at zero, fused",
        "attention": "Attention of one head: softmax(q kᵀ / 8) v",
        "attention_causal": "Causal attention of two heads: each row looks at itself and at earlier rows",
    },
    "elementwise": {
        "gelu": "GELU in its tanh form",
        "gelu_chain": "GELU, scaled, shifted, and GELU again",
        "swiglu": "SwiGLU: a * sigmoid(a) * b",
        "mish": "Mish: x * tanh(log(1 + exp(x)))",
        "transpose": "Transposed matrix, scaled by row",
    },
    "reductions": {
        "softmax": "Softmax of each row",
        "log_softmax": "Logarithm of the softmax of each row",
        "layernorm": "Layer norm of each row, with gain and bias",
        "rmsnorm": "Root-mean-square norm of each row, with gain",
        "groupnorm": "Group norm: 8 images of 32 channels in groups of 4",
        "row_sums": "Sum of each row",
        "column_variance": "Variance of each column",
        "argmax": "Place of the greatest number of each row, the first of equal ones",
        "cross_entropy": "Cross entropy of each row against its target class",
        "scan": "Running sum of each row",
        "scan_columns": "Running product of each column, of numbers near 1",
    },
    "windows": {
        "conv2d": "Convolution of 8 channels of 34 x 34 with 8 filters of 3 x 3",
        "conv1d_dilated": "Convolution along time, 16 channels to 16, 3 taps 4 apart",
        "conv2d_depthwise": "Depthwise convolution: 24 channels of 70 x 70, a filter of 7 x 7 for each",
        "max_pool": "Greatest number of each window of 7 x 7, with overlap",
        "moving_average": "Average of each window of 63 numbers",
        "jacobi": "Eight steps of Jacobi's stencil on a grid whose rim stays",
    },
    "irregular": {
        "spmv": "Product of a sparse matrix (CSR, rows of 0 to 64 numbers) and a vector",
        "embedding_bag": "Sum of 24 rows of a table, for each of 256 bags",
        "histogram": "How many of the numbers in [0, 1) fall into each of 64 bins",
        "segment_sum": "Sum of tanh over each of 4096 segments of 0 to 16 numbers",
        "pairwise_distances": "Distance of every pair of points in 32 dimensions",
    },
}
"""Families of our own problems, with titles; `own.PROBLEMS` holds the problems themselves."""
SERVER = "KERNELBENCH_SERVER"
ENVIRONMENT = "kernelbench_server"
CITATION = "Ouyang et al., KernelBench: Can LLMs Write Efficient GPU Kernels?, 2025, arXiv:2502.10517."
_QUICK = ("matmul", "layernorm", "spmv", "conv2d")
COMPILERS = tuple(
    Requirement(kind="command", name=name, hint="sudo apt-get install gcc g++", unless=f"server ${SERVER}")
    for name in ("gcc", "g++")
)


def listed() -> Iterator[TaskSpec]:
    """Yield a task per problem."""
    for family, titles in OWN.items():
        for name, title in titles.items():
            yield _spec(name, title, family)


def _spec(name: str, title: str, family: str) -> TaskSpec:
    return TaskSpec(
        timed=True,
        version=TaskVersion(comparability=4),
        name=f"own/{name}",
        loader=f"tracebench_kernelbench.loading:{name}",
        title=title,
        aliases=(name,),
        groups=("own", f"own/{family}", *(("quick",) if name in _QUICK else ())),
        tags=("kernel", "c++", family),
        options="tracebench_kernelbench.options:Options",
        stands_on="tracebench_kernelbench.standing:of_c",
        metric="speedup",
        worst_score=0.0,
        aggregate="kernelbench_geometric_mean",
        sizes=TaskSizes(train=1, test=1),
        environments=(ENVIRONMENT,),
        concurrency=1,
        requires=COMPILERS,
        preload=("numpy",),
        sandbox=(),
        citation=CITATION,
    )
