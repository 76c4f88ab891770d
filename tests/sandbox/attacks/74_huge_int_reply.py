# TRIES: an int of a million digits | MUST: an error verdict
def solve(x):
    return 1 << (1 << 22)
