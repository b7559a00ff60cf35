"""The bench itself: its engine, its API, its command, and the parts that it brings."""
