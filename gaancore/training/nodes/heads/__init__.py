"""What the heads of a trained network do: gates and attention weights of chosen nodes."""
