"""`python -m` entry of the process that holds a run's workers in Ray."""

from __future__ import annotations

from tracebench_ray.holding import main

if __name__ == "__main__":
    main()
