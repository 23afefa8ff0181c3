"""Errors of forecasts, what they are compared with, and how far off they may be."""
