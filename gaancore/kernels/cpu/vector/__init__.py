"""Rows of numbers as vector registers: moves in LLVM IR, and functions of them."""
