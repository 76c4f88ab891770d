# TRIES: as many parts as a reply can have, in every call
def solve(x):
    return [[1] * 10_000, [1.5] * 900, "x" * 5_000]
