"""Figures as plain data, and the pictures that templates draw from them."""
