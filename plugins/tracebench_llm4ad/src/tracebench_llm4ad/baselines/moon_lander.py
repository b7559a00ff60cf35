"""A PD controller: lean against the sideways drift, sink more slowly the lower the craft is."""


def choose_action(
    xc: float, yc: float, xv: float, yv: float, a: float, av: float, lc: float, rc: float, last_action: int
) -> int:
    """Return the engine that corrects tilt or descent, whichever is further off."""
    lean = max(-0.4, min(0.4, 0.5 * xc + xv))
    turn = 0.5 * (lean - a) - av
    lift = 0.5 * (0.55 * abs(xc) - yc) - 0.5 * yv
    if lc or rc:
        turn, lift = 0.0, -0.5 * yv
    if lift > abs(turn) and lift > 0.05:
        return 2
    if turn < -0.05:
        return 3
    return 1 if turn > 0.05 else 0
