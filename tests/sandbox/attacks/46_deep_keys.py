# TRIES: tuples nested in keys of dicts | MUST: an error verdict
def solve(x):
    d = 1
    for _ in range(500):
        d = {(d if isinstance(d, int) else 1,): d}
    return d
