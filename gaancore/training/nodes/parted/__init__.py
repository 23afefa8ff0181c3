"""Scoring on a store in parts: each rank computes its shares, and asks for the rest."""
