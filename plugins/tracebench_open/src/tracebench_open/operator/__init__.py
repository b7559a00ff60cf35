"""An operator for agents: plan, validate, run under a cap, watch, compare and explain, by the Model Context Protocol."""
