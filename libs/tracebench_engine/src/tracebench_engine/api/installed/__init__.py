"""What is installed: the host of plugins and what names mean in it, and the catalogue of all parts as plain data."""
