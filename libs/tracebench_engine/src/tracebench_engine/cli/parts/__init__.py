"""Commands on what is installed: tasks, parts, plugins, interpreters, this machine."""
