# TRIES: floods stdout, stderr, __stdout__, __stderr__, sys.stdout.buffer, warnings, excepthook
# Written for an audit of this project.
import sys,warnings
def solve(x):
    for s in (sys.stdout,sys.stderr,sys.__stdout__,sys.__stderr__):
        try:
            for _ in range(3000): s.write('z'*5000)
        except BaseException: pass
    while True: warnings.warn('w'*9999)
