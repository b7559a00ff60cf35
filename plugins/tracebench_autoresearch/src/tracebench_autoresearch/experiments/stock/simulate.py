"""A shop that fills its stock up to a level at the end of each day; goods arrive two days later. The policy is read as data."""

import json
import math
import random
import sys

DAYS, WARMING, MEAN, LEFT, MISSED, LEAD = 2000, 20, 20.0, 1.0, 9.0, 2
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def poisson(rng):
    limit, count, product = math.exp(-MEAN), 0, rng.random()
    while product > limit:
        count, product = count + 1, product * rng.random()
    return count


def read_policy():
    with open("policy.json", encoding="utf-8") as file:
        policy = json.load(file)
    if sorted(policy) != sorted(WEEKDAYS):
        sys.exit("policy.json needs a level for each weekday, and nothing else")
    levels = [policy[day] for day in WEEKDAYS]
    if not all(type(level) is int and 0 <= level <= 1000 for level in levels):
        sys.exit("a level is a whole number from 0 to 1000")
    return levels


def main():
    levels, rng = read_policy(), random.Random(int(sys.argv[-1]))
    stock, coming, cost = levels[-1], [0] * LEAD, 0.0
    for day in range(DAYS + WARMING):
        stock += coming.pop(0)
        stock -= poisson(rng)
        if day >= WARMING:
            cost += LEFT * max(stock, 0) + MISSED * max(-stock, 0)
        coming.append(max(0, levels[day % 7] - stock - sum(coming)))
    print(f"cost: {cost / DAYS:.6f}")


main()
