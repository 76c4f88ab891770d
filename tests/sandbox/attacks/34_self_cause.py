# TRIES: an exception that is its own cause | MUST: an error verdict
def solve(x):
    e = ValueError(1)
    e.__cause__ = e
    e.__context__ = e
    raise e
