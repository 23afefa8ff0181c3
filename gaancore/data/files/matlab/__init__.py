"""Matrices of MATLAB files."""
