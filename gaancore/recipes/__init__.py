"""Shipped recipes: one TOML file of settings each, chosen by name (config)."""
