"""Reports: from the records of runs to JSON, pages and pictures."""
