# TRIES: fractions that grow without end | MUST: ended in time
def solve(x):
    from fractions import Fraction

    f = Fraction(3, 7)
    while True:
        f = f * f + f
