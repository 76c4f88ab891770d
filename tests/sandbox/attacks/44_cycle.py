# TRIES: a list that contains itself | MUST: an error verdict
def solve(x):
    l = []
    l.append(l)
    return l
