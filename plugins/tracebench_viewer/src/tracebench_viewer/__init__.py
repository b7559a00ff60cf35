"""A viewer of runs in the browser. It reads run directories and sends what is asked for through the commands that people type."""
