"""Simulations, step by step, of the quantities that the formulas compute.

Nothing here may import `app.core.formulas`: two derivations that share code share mistakes.
"""
