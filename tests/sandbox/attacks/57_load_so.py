# TRIES: import an extension module / dlopen from a writable path | MUST: refused
def solve(x):
    import _ctypes

    return _ctypes.dlopen("/tmp/pwned.so", 2)
