"""Images without a container engine: fetched, built and unpacked by Debian's own tools, and run as root of a user namespace."""
