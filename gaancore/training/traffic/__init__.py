"""Training, scoring and asking a traffic forecaster."""
