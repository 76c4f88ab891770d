"""Simulations, step by step, of the quantities that the formulas compute.

Nothing here may import `app.formulas`: two derivations that share code share mistakes.
"""
