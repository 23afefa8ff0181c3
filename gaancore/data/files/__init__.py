"""File formats that know no dataset: arrays, tables, node-link JSON, plain pickle."""
