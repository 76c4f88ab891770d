# TRIES: all products of long iterables | MUST: ended or MemoryError
def solve(x):
    import itertools

    return len(list(itertools.product(range(100), repeat=8)))
