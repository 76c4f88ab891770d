# TRIES: anonymous memory maps | MUST: refused
def solve(x):
    import mmap

    return len(mmap.mmap(-1, 1 << 33))
