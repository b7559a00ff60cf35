"""The evaluation server: a queue per device, one candidate at a time, and an HTTP door."""
