"""Finds sizes at which a problem fits a CPU: halves its constants, and asks PyTorch's meta device, which computes nothing.

`python -m tracebench_kernelbench.modules.shrinking CHECKOUT > sizes.json` writes the table of the profile `cpu`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracebench_kernelbench.modules.constants import read_constants, rewrite_constants

MOST_BYTES = 16 << 20
MOST_FLOPS = 5e8
_LEAST = 16
"""Smaller constants shape a layer (a kernel of 3 x 3, 8 heads), and stay."""
_STEPS = 60


def shrink(code: str) -> dict[str, int] | None:
    """Return the constants to change; empty when the problem fits as it is, None when no halving makes it fit.

    The code is run, on the meta device: only of a source that is trusted.
    """
    constants, changed = read_constants(code), dict[str, int]()
    cost = _cost(code, changed)
    for _ in range(_STEPS):
        if cost is not None and cost <= 1:
            return changed
        tried = {
            name: changed | {name: changed.get(name, value) // 2}
            for name, value in constants.items()
            if changed.get(name, value) >= 2 * _LEAST
        }
        costs = {name: found for name, values in tried.items() if (found := _cost(code, values)) is not None}
        if not costs or (cost is not None and min(costs.values()) >= cost):
            return None
        best = min(costs, key=lambda name: (costs[name], name))
        cost, changed = costs[best], tried[best]
    return None


def _cost(code: str, values: Mapping[str, int]) -> float | None:
    """Return how far the sizes are beyond the bounds, at most 1 where they fit; None where the problem does not run at them."""
    try:
        taken, flops = measure(rewrite_constants(code, values))
    except Exception:  # noqa: BLE001 - whatever a problem raises at sizes that do not fit together
        return None
    return max(taken / MOST_BYTES, flops / MOST_FLOPS)


def measure(code: str) -> tuple[int, int]:
    """Return the bytes of inputs, weights and the largest result, and the floating-point operations of one call."""
    import torch  # noqa: PLC0415 - heavy
    from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC0415
    from torch.utils.flop_counter import FlopCounterMode  # noqa: PLC0415

    class Largest(TorchDispatchMode):  # type: ignore[misc]  # torch has no types here
        largest = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            self.largest = max(self.largest, sum(_bytes(x) for x in (out if isinstance(out, list | tuple) else [out])))
            return out

    def _bytes(value: Any) -> int:
        return value.numel() * value.element_size() if isinstance(value, torch.Tensor) else 0

    names: dict[str, Any] = {"__name__": "problem"}
    with torch.device("meta"), torch.no_grad():
        exec(compile(code, "<problem>", "exec"), names)  # noqa: S102 - trusted, see above
        inputs, model = names["get_inputs"](), names["Model"](*names["get_init_inputs"]())
        counter, largest = FlopCounterMode(display=False), Largest()
        with counter, largest:
            model(*inputs)
    held = sum(map(_bytes, inputs)) + sum(map(_bytes, model.parameters()))
    return held + largest.largest, counter.get_total_flops()


def digest(code: str) -> str:
    """Return what tells versions of a problem's file apart."""
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def main() -> None:
    """Print the table for a checkout, a line per problem; what fits at no size is left out."""
    rows = []
    for path in sorted(Path(sys.argv[1]).glob("KernelBench/level[123]/*.py")):
        code = path.read_text(encoding="utf-8")
        values = shrink(code)
        print(path, values, file=sys.stderr, flush=True)  # noqa: T201
        if values is not None:
            row = {
                "level": int(path.parent.name[-1]),
                "id": int(path.name.split("_")[0]),
                "code": digest(code),
                "constants": values,
            }
            rows.append(json.dumps(row))
    print("[\n" + ",\n".join(rows) + "\n]")  # noqa: T201


if __name__ == "__main__":
    main()
