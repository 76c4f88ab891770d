"""Figures as plain data, and their layout for the templates that draw them."""
