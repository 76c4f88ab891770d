"""What a visitor's own job printed or recorded, beside the formulas."""
