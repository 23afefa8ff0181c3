"""Training, scoring and asking a node classifier."""
