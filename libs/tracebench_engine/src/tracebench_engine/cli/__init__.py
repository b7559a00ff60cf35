"""The `trace-bench` command: parses, calls the API, prints. The only place that prints or exits."""
