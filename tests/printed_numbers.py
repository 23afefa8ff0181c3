"""Every number that the paper prints in its tables, typed here a second time, row by row.

A test reads them against gaancore's own copy, which is in TOML files; `-` is an empty cell.
"""

# Table 1: |B_0|, |B_1|, |B_2|, |B_3|
TABLE_1 = """
not merged  512  7.8K  124.4K  1.9M
merged      512  7.5K   70.7K  0.2M
"""

# Table 2 and Table 6
TABLE_2 = """
ppi     nodes 56.9K   edges 806.2K  features 50   classes 121 (multi)
reddit  nodes 233.0K  edges 114.6M  features 602  classes 41 (single)
"""
TABLE_6 = "metr-la  sensors 207  edges 1,515  steps 34,272"

# Table 3: PPI, Reddit
TABLE_3 = """
GraphSAGE         (61.2)         95.4
GAT               97.3 ± 0.2     -
FastGCN           -              93.7
fnn               54.07 ± 0.06   73.58 ± 0.09
avg-pool          96.85 ± 0.19   95.78 ± 0.07
max-pool          98.39 ± 0.05   95.62 ± 0.03
pairwise-sigmoid  98.39 ± 0.05   95.86 ± 0.08
pairwise-tanh     98.32 ± 0.18   95.80 ± 0.03
attention         98.46 ± 0.09   96.19 ± 0.07
gaan              98.71 ± 0.02   96.36 ± 0.03
"""

# Table 4: #Param on Reddit, on PPI; F1 on PPI; on Reddit with 25,10  50,20  100,40  200,80
TABLE_4 = """
fnn               1.71M  1.23M  54.07 ± 0.06  73.58 ± 0.09  -             -             -
avg-pool          866K   274K   96.85 ± 0.19  95.78 ± 0.07  96.11 ± 0.07  96.28 ± 0.05  96.35 ± 0.02
max-pool          866K   274K   98.39 ± 0.05  95.62 ± 0.03  96.06 ± 0.09  96.18 ± 0.11  96.33 ± 0.04
pairwise-sigmoid  965K   349K   98.39 ± 0.05  95.86 ± 0.08  96.19 ± 0.04  96.33 ± 0.05  96.38 ± 0.08
pairwise-tanh     965K   349K   98.32 ± 0.18  95.80 ± 0.03  96.11 ± 0.05  96.26 ± 0.03  96.36 ± 0.04
attention-k1      562K   168K   96.31 ± 0.08  96.15 ± 0.06  96.40 ± 0.05  96.48 ± 0.02  96.54 ± 0.07
attention-k2      571K   178K   97.36 ± 0.08  96.19 ± 0.07  96.40 ± 0.04  96.52 ± 0.02  96.57 ± 0.02
attention-k4      587K   196K   98.09 ± 0.07  96.11 ± 0.06  96.40 ± 0.02  96.49 ± 0.03  96.56 ± 0.02
attention-k8      620K   233K   98.46 ± 0.09  96.10 ± 0.03  96.38 ± 0.01  96.50 ± 0.04  96.53 ± 0.02
gaan-k1           620K   201K   96.95 ± 0.09  96.29 ± 0.05  96.50 ± 0.08  96.67 ± 0.04  96.73 ± 0.05
gaan-k2           629K   211K   97.92 ± 0.05  96.33 ± 0.02  96.59 ± 0.02  96.71 ± 0.05  96.82 ± 0.05
gaan-k4           645K   230K   98.42 ± 0.02  96.36 ± 0.03  96.60 ± 0.03  96.73 ± 0.04  96.83 ± 0.03
gaan-k8           678K   267K   98.71 ± 0.02  96.31 ± 0.13  96.60 ± 0.02  96.75 ± 0.03  96.79 ± 0.08
"""

# Table 5: MAE at 15, 30, 60 minutes and their average; then RMSE; then MAPE
TABLE_5 = """
FC-LSTM           3.44 3.77 4.37 3.86   6.30 7.23 8.69 7.41   9.6  10.9 13.2  11.2
GCRNN             2.80 3.24 3.81 3.28   5.51 6.74 8.16 6.80   7.5  9.0  10.9  9.13
DCRNN             2.77 3.15 3.60 3.17   5.38 6.45 7.60 6.48   7.3  8.8  10.5  8.87
avg-pool          2.79 3.20 3.69 3.22   5.42 6.52 7.69 6.54   7.26 8.84 10.73 8.94
max-pool          2.77 3.18 3.69 3.21   5.36 6.45 7.73 6.51   7.21 8.78 10.80 8.93
pairwise-sigmoid  2.76 3.18 3.70 3.22   5.36 6.46 7.73 6.52   7.14 8.72 10.77 8.88
pairwise-tanh     2.76 3.18 3.70 3.21   5.34 6.46 7.73 6.51   7.14 8.73 10.73 8.87
attention         2.74 3.16 3.67 3.19   5.33 6.45 7.61 6.49   7.09 8.69 10.77 8.85
gaan              2.71 3.12 3.64 3.16   5.24 6.36 7.65 6.41   6.99 8.56 10.62 8.72
"""
