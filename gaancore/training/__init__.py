"""Training: the only place where sampler, model and optimiser meet."""
