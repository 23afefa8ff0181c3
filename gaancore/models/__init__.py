"""The seven models of the paper, by the names of the command line."""
