# TRIES: an entry that is a class | MUST: a type verdict
class solve(int):
    pass
