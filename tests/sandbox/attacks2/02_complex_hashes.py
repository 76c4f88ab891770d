# TRIES: complex numbers whose hashes are all the same, as a set and as keys of a dict
def solve(x):
    same = [complex(1 + 1000003 * n, 1000 - n) for n in range(900)]
    return [set(same), {one: 1 for one in same}]
