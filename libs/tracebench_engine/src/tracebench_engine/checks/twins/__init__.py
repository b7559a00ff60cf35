"""Whether a library's own program, answered as a job was, does what the job's trainer did."""
