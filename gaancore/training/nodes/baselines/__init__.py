"""What a trained network has to beat: guesses that see the labels, the features or the graph."""
