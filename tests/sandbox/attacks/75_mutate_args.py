# TRIES: mutate the arguments so that a checker sharing them compares wrong data | MUST: wrong; checker works on its own copy
def solve(x):
    try:
        x.clear()
        x.extend([0] * 5)
    except AttributeError:
        pass
    return x
