# TRIES: a list a million deep as the result | MUST: an error verdict
def solve(x):
    l = []
    for _ in range(10**6):
        l = [l]
    return l
