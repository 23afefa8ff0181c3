"""Shipped recipes: one TOML file of settings each, for `gaancore train --config NAME`."""
