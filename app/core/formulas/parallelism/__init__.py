"""The degrees of parallelism of a layout as numbers, and the rules that they must keep."""
