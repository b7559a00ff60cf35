"""What the kernel offers to contain a process: Landlock, seccomp, namespaces, control groups."""
