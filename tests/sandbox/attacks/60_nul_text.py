# TRIES: NUL and control characters | MUST: nothing breaks
def solve(x):
    print("\x00\x1b[2J\x07")
    return "\x00"
