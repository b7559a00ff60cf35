"""Deliveries on several days: who is served when, and by which tours (period vehicle routing)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, Problem, finite, part
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import integers, shown

SLACK = 1e-9


class PeriodRouting(Problem):
    """A schedule for each customer, and tours from one depot for each day."""

    name = "optimization/co_bench/vehicle_routing_period_routing_co_bench"
    folder = "Vehicle routing: period routing"
    bound_source = "the bound of Haimovich and Rinnooy Kan,"
    program = '''
def solve(depot: dict, customers: list, vehicles_per_day: list, vehicle_capacity: float, period_length: int) -> dict:
    """Choose schedules that balance the days, then fill the vehicles first fit, and visit the nearest customer next."""
    load, chosen = [0.0] * period_length, {}
    for c in sorted(customers, key=lambda c: -c["demand"]):
        days = lambda s: max(load[d] + c["demand"] for d in range(period_length) if s[d])
        chosen[c["id"]] = min((s for s in c["schedules"] if any(s)), key=days, default=c["schedules"][0])
        for d in range(period_length):
            load[d] += c["demand"] * chosen[c["id"]][d]
    tours = {}
    for day in range(1, period_length + 1):
        due = [c for c in sorted(customers, key=lambda c: -c["demand"]) if chosen[c["id"]][day - 1]]
        loads = []
        for c in due:
            for entry in loads:
                if entry[0] + c["demand"] <= vehicle_capacity:
                    entry[0] += c["demand"]
                    entry[1].append(c)
                    break
            else:
                loads.append([c["demand"], [c]])
        tours[day] = []
        for _, members in loads:
            here, tour = depot, [0]
            while members:
                here = min(members, key=lambda c: (c["x"] - here["x"]) ** 2 + (c["y"] - here["y"]) ** 2)
                members.remove(here)
                tour.append(here["id"])
            tours[day].append([*tour, 0])
    return {"selected_schedules": chosen, "tours": tours}
'''
    objective = """
Period vehicle routing: choose for each customer on which days it is served, and drive the tours of each day, all on a short way. Write \
`solve(depot, customers, vehicles_per_day, vehicle_capacity, period_length)`.
- `depot` (dict): `"id"` (0), `"x"`, `"y"`.
- `customers` (list of dicts): `"id"` (int), `"x"`, `"y"`, `"demand"` (floats, for each visit), `"schedules"` (list of lists of \
period_length numbers 0 or 1: the days on which it may be served together).
- `vehicles_per_day` (list of period_length ints), `vehicle_capacity` (float), `period_length` (int: days, numbered from 1).
Return `{"selected_schedules": {customer: schedule, ...}, "tours": {day: [[0, customer, ..., 0], ...], ...}}`. Each customer has one of \
its schedules; on each day exactly the customers with a 1 are visited, each once, by at most as many tours as there are vehicles; a tour \
begins and ends at 0, visits at least one customer, and its demands do not exceed the capacity.
Score: minus the Euclidean length of all tours of all days, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read customers and days; vehicles of each day; capacity; then id, x, y, demand and a JSON list of schedules of each place.

        Place 0 is the depot; its demand and schedules may be missing.
        """
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        count, days = (int(word) for word in lines[0].split())
        vehicles, capacity = [int(word) for word in lines[1].split()], finite(lines[2])
        if len(vehicles) != days:
            raise ValueError(f"it names vehicles for {len(vehicles)} of {days} days")
        depot: dict[str, Any] = {}
        customers = []
        for line in lines[3:]:
            words = line.split(maxsplit=4)
            place: dict[str, Any] = {"id": int(words[0]), "x": finite(words[1]), "y": finite(words[2])}
            if place["id"] == 0:
                depot = place
                continue
            schedules = json.loads(words[4])
            if not schedules or any(len(s) != days or not set(s) <= {0, 1} for s in schedules):
                raise ValueError(f"customer {place['id']} has no schedules of {days} days")
            customers.append({**place, "demand": finite(words[3]), "schedules": schedules})
        if not depot or len({c["id"] for c in customers}) != count:
            raise ValueError(f"it holds {len(customers)} of {count} customers, or no depot")
        arguments = {"depot": depot, "customers": customers, "vehicles_per_day": vehicles}
        yield Case({**arguments, "vehicle_capacity": capacity, "period_length": days})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case of 16 customers and 3 days: places in a square of 100, demands of 5 to 20, capacity 60, one or two visits."""
        once, twice = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
        lines = ["16 3", "6 6 6", "60", "0 50 50 0"]
        for k in range(1, 17):
            x, y = rng.integers(0, 101, 2)
            lines.append(f"{k} {x} {y} {rng.integers(5, 21)} {json.dumps(twice if rng.random() < 0.3 else once)}")  # noqa: PLR2004 - a share
        return "\n".join(lines) + "\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the length of all tours."""
        given = case.arguments
        customers = {c["id"]: c for c in given["customers"]}
        schedules = part(answer, "selected_schedules")
        tours = part(answer, "tours")
        if not isinstance(schedules, dict) or not isinstance(tours, dict):
            raise invalid("`selected_schedules` and `tours` must be dictionaries.")
        serving = {
            key: self._schedule(schedules, customer, given["period_length"]) for key, customer in customers.items()
        }
        if strange := [
            key for key in tours if key not in range(1, given["period_length"] + 1) or isinstance(key, bool)
        ]:
            raise invalid(f"There is no day {shown(strange[0])}.")
        return math.fsum(
            self._day(given, customers, tours.get(day, []), day, due={key for key, s in serving.items() if s[day - 1]})
            for day in range(1, given["period_length"] + 1)
        )

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing:
        """Draw the tours of all days."""
        given = case.arguments
        places = [(given["depot"]["x"], given["depot"]["y"]), *((c["x"], c["y"]) for c in given["customers"])]
        number = {c["id"]: i for i, c in enumerate(given["customers"], start=1)}
        ways = [
            [number[stop] for stop in tour if stop in number]
            for day in range(1, given["period_length"] + 1)
            for tour in answer["tours"].get(day, [])
        ]
        drawing = kinds.routes(np.array(places, dtype=float), ways, depot=0)
        drawing.note += f" on {given['period_length']} days"
        return drawing

    def simple_bound(self, case: Case) -> float:
        """Return twice the demand-weighted distance of all needed visits over the capacity, or the way to the farthest customer."""
        given = case.arguments
        centre = (given["depot"]["x"], given["depot"]["y"])
        visits = [
            (math.dist(centre, (c["x"], c["y"])), c["demand"], min(sum(s) for s in c["schedules"]))
            for c in given["customers"]
        ]
        radial = 2 * math.fsum(far * demand * times for far, demand, times in visits) / given["vehicle_capacity"]
        return float(max(radial, 2 * max((far for far, _, times in visits if times), default=0.0)))

    def size(self, case: Case) -> str:
        """Name customers and days."""
        return f"Case: {len(case.arguments['customers'])} customers, {case.arguments['period_length']} days."

    @staticmethod
    def _schedule(schedules: Mapping[Any, Any], customer: Mapping[str, Any], days: int) -> list[int]:
        if customer["id"] not in schedules:
            raise invalid(f"Customer {customer['id']} has no schedule.")
        schedule = integers(schedules[customer["id"]], length=days, what=f"the schedule of customer {customer['id']}")
        if schedule not in customer["schedules"]:
            raise invalid(f"Customer {customer['id']} may not have the schedule {schedule}.")
        return schedule

    @staticmethod
    def _day(given: Mapping[str, Any], customers: Mapping[int, Any], tours: Any, day: int, *, due: set[int]) -> float:
        """Check one day's tours and return their length."""
        if not isinstance(tours, list | tuple):
            raise invalid(f"The tours of day {day} must be a list of lists; they are {shown(tours)}.")
        if len(tours) > given["vehicles_per_day"][day - 1]:
            raise invalid(f"Day {day} has {len(tours)} tours and {given['vehicles_per_day'][day - 1]} vehicles.")
        places = {0: given["depot"], **customers}
        seen: set[int] = set()
        total = 0.0
        for entry in tours:
            tour = integers(entry, what="tours")
            inner = tour[1:-1]
            if not inner or tour[0] != 0 or tour[-1] != 0:
                raise invalid(f"A tour of day {day} must lead from 0 over customers to 0; it is {tour[:20]}.")
            for customer in inner:
                if customer not in due or customer in seen:
                    raise invalid(
                        f"On day {day} customer {customer} is visited {'twice' if customer in seen else 'and not due'}."
                    )
                seen.add(customer)
            if (load := sum(customers[c]["demand"] for c in inner)) > given["vehicle_capacity"] + SLACK:
                raise invalid(
                    f"A tour of day {day} carries {load:g}, more than the capacity {given['vehicle_capacity']:g}."
                )
            total += math.fsum(
                math.dist((places[a]["x"], places[a]["y"]), (places[b]["x"], places[b]["y"])) for a, b in pairwise(tour)
            )
        if missing := sorted(due - seen):
            raise invalid(f"On day {day} {len(missing)} customers are not visited, among them {missing[0]}.")
        return float(total)


build_period_routing = PeriodRouting.build
