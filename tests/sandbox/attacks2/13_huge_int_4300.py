# TRIES: int of 24,000 decimal digits (legal in the codec): the host's repr() has a limit of 4,300
# Written for an audit of this project.
def solve(x):
    return 1 << 79_000
