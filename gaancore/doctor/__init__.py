"""Checks of an installation: the machine (machine.py) and every kernel on it (self_test.py)."""
