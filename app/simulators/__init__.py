"""The quantities of the formulas, played out step by step and counted.

Nothing here may import `app.formulas`: two derivations that share code share mistakes.
"""
