# TRIES: many sets of numbers whose hashes collide, each below the limit of one set
def solve(x):
    return [{(k + 1000 * s) * (2**61 - 1) for k in range(1, 600)} for s in range(3)]
