# TRIES: a string that doubles | MUST: MemoryError
def solve(x):
    s = "a"
    while True:
        s += s
