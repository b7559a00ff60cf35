"""OpenTrace for Trace-Bench: Trace's optimizers as proposers, search trainers, and the trainers of newer builds of opto."""
