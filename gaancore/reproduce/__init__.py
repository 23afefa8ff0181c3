"""The tables and figures of the paper, from runs to a report."""
