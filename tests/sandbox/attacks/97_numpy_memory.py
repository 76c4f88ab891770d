# TRIES: numpy: out-of-bounds strides, ctypes through numpy, fromfile, memmap, pickle load, 80 GB array | MUST: refused / MemoryError / crash of this run only; nothing leaks
def solve(x):
    import numpy as np

    out = []

    def t(f):
        try:
            out.append(str(f())[:120])
        except BaseException as e:
            out.append(type(e).__name__)

    t(lambda: np.fromfile("/etc/passwd", dtype=np.uint8))
    t(lambda: np.memmap("/etc/passwd", mode="r"))
    t(lambda: np.load("/etc/passwd", allow_pickle=True))
    t(lambda: np.zeros(10**10).sum())
    t(lambda: np.ones((10**5, 10**5)))
    t(lambda: np.savetxt("/tmp/pwned_np", [1]))
    t(lambda: np.ctypeslib.ctypes.CDLL(None).system(b"touch /tmp/pwned_np2"))
    print(out)
    b = np.lib.stride_tricks.as_strided(np.zeros(1), shape=(10**7,), strides=(4096,))
    b[:] = 7
    return out
