"""Terminal-Bench: agents that work in a terminal, run by Harbor, with every model call through the gateway."""
