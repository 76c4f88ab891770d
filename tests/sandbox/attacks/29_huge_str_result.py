# TRIES: return a 50 MB string | MUST: too-large or cut; host memory flat
def solve(x):
    return "z" * 50_000_000
