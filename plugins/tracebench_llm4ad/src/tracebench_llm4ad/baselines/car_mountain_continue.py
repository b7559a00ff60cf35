"""Full force along the velocity, which always adds energy."""


def choose_action(pos: float, v: float, last_action: float) -> float:
    """Return the greatest force along the velocity."""
    return 1.0 if v >= 0 else -1.0
