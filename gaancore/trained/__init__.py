"""Runs that are there, ready to be asked: what they predict, forecast, and look like."""
