# TRIES: True for 1 | MUST: a type verdict
def solve(x):
    return True
