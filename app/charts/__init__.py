"""Figures as plain data, and the pictures that templates draw from them.

One letter decides the color of a bar, a curve, a box or an arrow: f forward or compute, b backward,
w weight gradients, c communication, i neutral, e empty. In a pipeline schedule it is the letter of
the pass: F, B, I (input gradients) or W (weight gradients).
"""
