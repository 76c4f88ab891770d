# TRIES: finalizers that run at the end | MUST: nothing left over
import weakref, gc


class D:
    def __del__(self):
        while True:
            pass


kept = D()
weakref.finalize(kept, print, "bye")


def solve(x):
    gc.collect()
    return 0
