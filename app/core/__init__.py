"""The arithmetic of distributed training: units, formulas, simulators and figures; usable alone."""
