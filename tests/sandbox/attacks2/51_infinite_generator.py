# TRIES: returns and prints infinite generators; *args of an infinite iterator
# Written for an audit of this project.
import itertools
def solve(x):
    print(*itertools.repeat('a'))
    return list(itertools.count())
