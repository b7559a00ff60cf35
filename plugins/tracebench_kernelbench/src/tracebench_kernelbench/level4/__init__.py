"""Modules around the models of a hub, as KernelBench's level 4 has them: judged without a network."""
