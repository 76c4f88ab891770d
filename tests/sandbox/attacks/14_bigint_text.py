# TRIES: a huge int as text | MUST: ended in time
def solve(x):
    import sys

    sys.set_int_max_str_digits(0)
    return len(str(7 ** (10**7)))
