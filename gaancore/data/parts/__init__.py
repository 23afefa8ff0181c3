"""A store cut into parts, of which each process of a run opens its own and asks for the rest."""
