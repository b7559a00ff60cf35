"""A basket of things to buy."""

from shop.prices import discount

FREE_FROM = 5000
SHIPPING = 490


class Basket:
    def __init__(self):
        self.lines = {}

    def add(self, name, cents, count=1):
        if count < 1:
            raise ValueError("at least one")
        old = self.lines.get(name)
        if old is not None and old[0] != cents:
            raise ValueError(f"{name} has another price")
        self.lines[name] = (cents, count + (old[1] if old else 0))

    def remove(self, name):
        if name not in self.lines:
            raise KeyError(name)
        cents, count = self.lines.pop(name)
        if count > 1:
            self.lines[name] = (cents, count - 1)

    def total(self, percent=0):
        goods = discount(sum(cents * count for cents, count in self.lines.values()), percent)
        if not self.lines:
            return 0
        if goods >= FREE_FROM:
            return goods
        return goods + SHIPPING
