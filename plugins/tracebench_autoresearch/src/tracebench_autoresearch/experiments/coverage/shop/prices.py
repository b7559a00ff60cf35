"""Prices in cents."""


def parse(text):
    """Return the cents of a price such as `12.50`."""
    whole, dot, rest = text.strip().partition(".")
    if not whole.isdigit():
        raise ValueError(f"no price: {text}")
    if not dot:
        return int(whole) * 100
    if len(rest) != 2 or not rest.isdigit():
        raise ValueError(f"no price: {text}")
    return int(whole) * 100 + int(rest)


def discount(cents, percent):
    """Return the price after a discount, rounded down."""
    if percent < 0 or percent > 100:
        raise ValueError("a discount is from 0 to 100")
    if percent == 0:
        return cents
    return cents * (100 - percent) // 100
