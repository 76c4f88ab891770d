# TRIES: raw syscalls by ctypes: socket, open, execve, ptrace, unshare, mount, bpf, io_uring, keyctl | MUST: all refused; nothing leaks
import sys


def solve(x):
    c = sys.modules.get("ctypes") or __import__("ctypes")
    import platform

    l = c.CDLL(None, use_errno=True)
    r = []
    for n, a in (
        (41, (2, 1, 0)),
        (2, (b"/etc/passwd", 0, 0)),
        (257, (-100, b"/etc/passwd", 0, 0)),
        (59, (b"/bin/sh", 0, 0)),
        (101, (16, 1, 0, 0)),
        (272, (0x10000000,)),
        (165, (b"none", b"/", b"tmpfs", 0, 0)),
        (321, (0, 0, 0)),
        (425, (8, 0)),
        (250, (0, 0)),
        (57, ()),
        (56, (17, 0, 0, 0, 0)),
        (435, (0, 0)),
        (62, (1, 9)),
        (424, (1, 9, 0, 0)),
        (310, (1, 0, 0, 0, 0, 0)),
        (323, (0,)),
        (308, (0, 0)),
        (155, (b"/", b"/")),
        (317, (1, 0, 0)),
    ):
        v = l.syscall(c.c_long(n), *[y if isinstance(y, bytes) else c.c_long(y) for y in a])
        r.append((n, v, c.get_errno()))
    print(r)
    return str(r)
