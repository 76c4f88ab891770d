# TRIES: an exception with a message of many MB | MUST: cut
def solve(x):
    raise ValueError("m" * 10**7)
