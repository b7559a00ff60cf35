"""The evaluation template and its children: forked, locked down, inspected."""
