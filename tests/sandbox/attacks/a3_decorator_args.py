# TRIES: change the arguments of later calls | MUST: inputs are fresh
seen = []


def solve(x, *more):
    seen.append(x)
    return seen
