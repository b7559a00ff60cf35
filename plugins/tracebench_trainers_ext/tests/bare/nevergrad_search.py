"""Nevergrad by hand over one number between -10 and 10, from 0 on."""

import json
import sys

import nevergrad as ng

space = ng.p.Dict(x=ng.p.Scalar(init=0.0, lower=-10.0, upper=10.0))
space.random_state.seed(int(sys.argv[2]))
optimizer = ng.optimizers.registry["NGOpt"](parametrization=space, budget=29)
visited = [0.0]
for _ in range(29):
    asked = optimizer.ask()
    visited.append(float(asked.value["x"]))
    optimizer.tell(asked, abs(visited[-1] - 3))
print(json.dumps(visited))
