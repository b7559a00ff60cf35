"""Pump energy until the rod can stand (Astrom and Furuta, 2000), then hold it by a PD controller."""

import math


def choose_action(x: float, y: float, av: float, last_action: float) -> float:
    """Return the torque that brings the energy to that of standing upright, or holds the rod there."""
    if x > 0.85:
        return -12.0 * math.atan2(y, x) - 3.0 * av
    energy = 0.5 * av * av + 15.0 * (x - 1.0)
    return 2.0 if (av >= 0) == (energy < 0) else -2.0
