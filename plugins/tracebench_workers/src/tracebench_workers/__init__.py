"""Jobs of a run on workers: processes on this or other machines that join the run, take orders and send back ends and files."""
