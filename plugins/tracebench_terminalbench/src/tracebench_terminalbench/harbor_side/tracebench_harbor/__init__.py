"""What runs inside Harbor's own Python: an environment made of namespaces, and Terminus-2 with another prompt."""
