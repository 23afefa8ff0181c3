"""Citation graphs as papers pass them on."""
