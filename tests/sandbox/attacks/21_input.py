# TRIES: wait for standard input | MUST: EOFError or refused, no hang
def solve(x):
    return input("? ")
