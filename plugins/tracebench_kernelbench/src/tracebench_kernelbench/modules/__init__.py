"""KernelBench's own problems: PyTorch modules from a checkout or the hub's rows, and candidates in Python that replace them."""
