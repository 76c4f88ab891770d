# TRIES: trace or profile the harness and edit its locals | MUST: not pass
import sys


def tr(f, e, a):
    try:
        for k in list(f.f_locals):
            if k in ("v", "rep", "result", "ok", "passed"):
                f.f_locals[k] = True
    except Exception:
        pass
    return tr


sys.settrace(tr)
sys.setprofile(lambda *a: None)


def solve(x):
    return 0
