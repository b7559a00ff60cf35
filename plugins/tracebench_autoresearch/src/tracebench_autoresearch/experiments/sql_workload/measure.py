"""Runs a workload on SQLite, counts the steps of its virtual machine, and compares the rows with the reference's. SQL is data."""

import random
import sqlite3
import sys

TIMES, GRAIN = 20, 100
ALLOWED = {
    sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_REINDEX, sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}  # fmt: skip
INSIDE = {"sqlite_master", "sqlite_schema"}


def build(seed):
    rng, base = random.Random(seed), sqlite3.connect(":memory:", isolation_level=None)
    base.executescript(
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, city TEXT);"
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, day INTEGER);"
        "CREATE TABLE lines (order_id INTEGER, product INTEGER, pieces INTEGER, price INTEGER);"
    )
    base.executemany("INSERT INTO customers VALUES (?, ?)", ((n, f"city {rng.randrange(20)}") for n in range(500)))
    orders = ((n, rng.randrange(500), rng.randrange(365)) for n in range(4000))
    base.executemany("INSERT INTO orders VALUES (?, ?, ?)", orders)
    lines = (
        (rng.randrange(4000), rng.randrange(100), rng.randrange(1, 9), rng.randrange(1, 999)) for _ in range(12000)
    )
    base.executemany("INSERT INTO lines VALUES (?, ?, ?, ?)", lines)
    return base


def allow(action, first, *_):
    """Let a statement make indexes and read, and nothing else."""
    own = action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE) and first in INSIDE
    return sqlite3.SQLITE_OK if action in ALLOWED or own else sqlite3.SQLITE_DENY


def statements(name):
    """Yield the statements of a file, each with its semicolon."""
    with open(name, encoding="utf-8") as file:
        text = file.read()
    begin = 0
    for place, character in enumerate(text):
        if character == ";" and sqlite3.complete_statement(text[begin : place + 1]):
            yield text[begin : place + 1]
            begin = place + 1


def main():
    seed, steps = int(sys.argv[-1]), 0
    plain, base = build(seed), build(seed)
    expected = [plain.execute(one).fetchall() for one in statements("reference.sql")]

    def count():
        nonlocal steps
        steps += GRAIN
        return 0

    base.set_progress_handler(count, GRAIN)
    base.set_authorizer(allow)
    try:
        for one in statements("schema.sql"):
            base.execute(one)
        queries = list(statements("queries.sql"))
        found = [[base.execute(one).fetchall() for one in queries] for _ in range(TIMES)]
    except sqlite3.Error as err:
        sys.exit(f"SQLite: {err}")
    if any(rows != expected for rows in found):
        sys.exit("a query returns other rows than the reference, or there is not one for each")
    print(f"kilosteps: {steps / 1000:.3f}")


main()
