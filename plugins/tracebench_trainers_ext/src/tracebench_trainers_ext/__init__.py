"""Optimizers of other libraries as trainers: each runs in a process of its own, behind the job's door and gateway."""
