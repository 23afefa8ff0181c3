"""Is this installation well? The machine (machine.py) and every kernel on it (self_test.py)."""
