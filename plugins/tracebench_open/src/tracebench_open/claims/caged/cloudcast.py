"""Runs in the cage: a published routing program, once over every scenario of its authors' simulator. Prints cost by scenario."""

import json
import random
import sys
import types
from pathlib import Path

sys.path.insert(0, ".")
import networkx
import numpy as np
import pandas
from examples.adrs.cloudcast.utils.cloudcast.simulator import BCSimulator
from examples.adrs.cloudcast.utils.cloudcast.utils import make_nx_graph

seed, machines = int(sys.argv[1]), int(sys.argv[2])
program = types.ModuleType("program")
sys.modules["program"] = program
exec(compile(Path("program.py").read_text(encoding="utf-8"), "program.py", "exec"), program.__dict__)
graph, costs = make_nx_graph(num_vms=machines), {}
random.seed(seed)
np.random.seed(seed)
for path in sorted(Path("scenarios").iterdir()):
    scenario = json.loads(path.read_text(encoding="utf-8"))
    found = program.search_algorithm(
        scenario["source_node"], scenario["dest_nodes"], graph.copy(), scenario["num_partitions"]
    )
    found.set_num_partitions(scenario["num_partitions"])
    _, costs[path.stem] = BCSimulator(num_vms=machines).evaluate_path(found, scenario)
print()
print(json.dumps({"costs": costs, "versions": {"networkx": networkx.__version__, "pandas": pandas.__version__}}))
