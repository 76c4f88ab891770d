# TRIES: a generator as the result | MUST: a type verdict, never iterated
def solve(x):
    while True:
        yield 424242
