"""Every picture: learning curves, scores, gates, forecasts."""
