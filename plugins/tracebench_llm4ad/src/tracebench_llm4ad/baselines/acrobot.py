"""Push always along the rotation of the second link."""


def choose_action(ct1: float, st1: float, ct2: float, st2: float, avt1: float, avt2: float, last_action: int) -> int:
    """Return the torque that feeds energy into the second link."""
    return 2 if avt2 > 0 else 0
