# TRIES: an exception whose class name is huge | MUST: cut
def solve(x):
    raise type("E" * 10**7, (Exception,), {})("m")
