# TRIES: odd line ends and a BOM | MUST: nothing breaks
def solve(x):
    return 0
