# TRIES: code objects out of bytes | MUST: an error verdict
def solve(x):
    import marshal

    return eval(marshal.loads(b"\xe3" + b"\x00" * 40))
