# TRIES: x32 / int80 system-call ABI to dodge a 64-bit filter | MUST: killed or refused
import sys


def solve(x):
    c = __import__("ctypes")
    l = c.CDLL(None, use_errno=True)
    return [l.syscall(c.c_long(0x40000000 + 2), b"/etc/passwd", c.c_long(0)), c.get_errno()]
