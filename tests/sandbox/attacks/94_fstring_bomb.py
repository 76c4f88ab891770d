# TRIES: a width of ten billion in a format | MUST: MemoryError
def solve(x):
    return len(f"{1:>{10**10}}")
