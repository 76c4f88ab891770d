# TRIES: infinity, nan and minus zero in a list | MUST: wrong, and finite JSON outside
def solve(x):
    return [float("inf"), float("nan"), -0.0]
