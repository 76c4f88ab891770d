# TRIES: writes the harness's local `reply` through f_locals (PEP 667) and a trace function
# Written for an audit of this project.
import sys
def tr(f,e,a):
    if f.f_code.co_name=='call':
        try: f.f_locals['reply']={'value':True}
        except BaseException: pass
    return tr
sys.settrace(tr)
def solve(x):
    f=sys._getframe(1)
    f.f_locals['reply']={'value':913377,'correct':True}
    return 0
