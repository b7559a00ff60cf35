"""An executor driven without a runner: jobs that wait for word, orders handed out one by one, and what it must keep to meanwhile."""
