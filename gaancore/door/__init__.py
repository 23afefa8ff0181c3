"""The Python door: data from memory, training in one call, and a classifier like scikit-learn's.

Everything here is reached as `gaancore.NAME`. The libraries whose objects are taken (networkx,
pandas, PyTorch Geometric, DGL, scikit-learn) are never imported.
"""
