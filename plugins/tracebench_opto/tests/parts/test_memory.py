from tracebench_core.specs import Candidate
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.memory import Memory
from tracebench_opto.parts.objectives import SCALAR


def entries(count: int) -> list[Entry]:
    return [Entry(Candidate(id=f"c{i}", values={}), i, SCALAR) for i in range(count)]


def newest_first(pool: list[Entry]) -> list[Entry]:
    return sorted(pool, key=lambda e: -e.index)


def test_what_is_held_is_not_held_twice() -> None:
    memory, (a, b) = Memory(newest_first), entries(2)
    memory.add([a, b])
    memory.add([a])
    assert memory.top(5) == [b, a]


def test_the_least_urgent_leaves_a_full_memory() -> None:
    memory, pool = Memory(newest_first, long_term_size=2), entries(3)
    memory.add(pool)
    assert memory.top(5) == [pool[2], pool[1]]


def test_new_candidates_are_searched_alone_until_the_memories_merge() -> None:
    memory, (a, b, c) = Memory(newest_first, update_frequency=2), entries(3)
    memory.add([a])
    memory.add([b])
    assert memory.top(5) == [b]
    memory.end_step()
    memory.add([c])
    assert memory.top(5) == [c, b]
    memory.end_step()
    assert memory.top(5) == [c, b, a]


def test_without_a_frequency_there_is_one_memory() -> None:
    memory, (a, b) = Memory(newest_first), entries(2)
    memory.add([a])
    memory.add([b])
    assert memory.top(5) == [b, a]
