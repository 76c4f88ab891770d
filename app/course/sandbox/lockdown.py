"""Lock this process down, on Linux, to what a calculation needs. Standard library only.

An allow-list of about thirty system calls (seccomp, for every thread), no file and no connection
(landlock, where the kernel has it), the user nobody if it was root, and death with the parent.
"""

import ctypes
import errno
import os
import platform
import signal
import struct

NOBODY = 65534
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_SECCOMP_SET_MODE_FILTER, _SECCOMP_FILTER_FLAG_TSYNC = 1, 1
_LANDLOCK_CREATE_RULESET, _LANDLOCK_RESTRICT_SELF = 444, 446  # the same on both machines
_PROT_EXEC = 4
_X32 = 0x4000_0000  # set in the numbers of system calls of the x32 ABI
# SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO with EPERM, SECCOMP_RET_KILL_PROCESS.
_ALLOW, _REFUSE, _KILL = 0x7FFF_0000, 0x0005_0000 | errno.EPERM, 0x8000_0000
# BPF: LD|W|ABS, JMP|JEQ|K, JMP|JSET|K, JMP|JGE|K, RET|K.
_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
# Offsets in struct seccomp_data; of an argument, its lower 32 bits on a little-endian machine.
_NUMBER, _MACHINE, _FIRST_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 32

# Linux, include/uapi/linux/audit.h and the tables of system calls.
_MACHINES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_CALLS = {
    "x86_64": {
        "read": 0, "write": 1, "close": 3, "fstat": 5, "lseek": 8, "mmap": 9, "mprotect": 10,
        "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15,
        "sched_yield": 24, "mremap": 25, "madvise": 28, "nanosleep": 35, "getpid": 39, "exit": 60,
        "gettimeofday": 96, "getrusage": 98, "times": 100, "sigaltstack": 131, "gettid": 186,
        "time": 201, "futex": 202, "restart_syscall": 219, "clock_gettime": 228,
        "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "seccomp": 317,
        "getrandom": 318,
    },
    "aarch64": {
        "close": 57, "lseek": 62, "read": 63, "write": 64, "fstat": 80, "exit": 93,
        "exit_group": 94, "futex": 98, "nanosleep": 101, "clock_gettime": 113,
        "clock_getres": 114, "clock_nanosleep": 115, "restart_syscall": 128, "sched_yield": 124,
        "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139,
        "times": 153, "getrusage": 165, "gettimeofday": 169, "getpid": 172, "gettid": 178,
        "brk": 214, "munmap": 215, "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233,
        "seccomp": 277, "getrandom": 278,
    },
}  # fmt: skip
_FILE_RIGHTS = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF}  # by landlock ABI; after 4, all
_ALL_FILE_RIGHTS = 0xFFFF

_libc = ctypes.CDLL(None, use_errno=True)


def lock_down(write_to: int) -> int:
    """Lock this process down permanently; it may still read, and write to descriptor *write_to*.

    Returns:
        The landlock ABI in use; 0 if the kernel has none.

    Raises:
        OSError: a required restriction cannot be applied.
    """
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    # After the change of user, which would clear the death signal.
    _checked("prctl", _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    _checked("no_new_privs", _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    version = _close_files()
    _filter_calls(write_to)
    return version


def _checked(what: str, result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what} is refused: {os.strerror(ctypes.get_errno())}")
    return result


def _call(number: int, *arguments: object) -> int:
    return int(_libc.syscall(ctypes.c_long(number), *arguments))


def _close_files() -> int:
    """Have landlock handle every right, and grant none."""
    version = _call(_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if version < 1:
        return 0  # an older kernel: seccomp alone refuses to open anything
    files = _FILE_RIGHTS.get(version, _ALL_FILE_RIGHTS)
    connections = 3 if version >= 4 else 0  # noqa: PLR2004 - TCP bind and connect, from ABI 4
    scopes = 3 if version >= 6 else 0  # noqa: PLR2004 - abstract sockets and signals, from ABI 6
    length = 8 if version < 4 else 16 if version < 6 else 24  # noqa: PLR2004
    rights = struct.pack("<QQQ", files, connections, scopes)[:length]
    rules = _call(_LANDLOCK_CREATE_RULESET, rights, ctypes.c_size_t(len(rights)), ctypes.c_uint32(0))
    _checked("landlock", rules)
    _checked("landlock", _call(_LANDLOCK_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0)))
    os.close(rules)
    return version


def _filter_calls(write_to: int) -> None:
    machine = platform.machine()
    if machine not in _CALLS:
        raise OSError(errno.ENOSYS, f"no list of system calls for {machine}")
    rows = _program(machine, write_to)
    code = ctypes.create_string_buffer(b"".join(rows))
    program = struct.pack("@HxxxxxxP", len(rows), ctypes.addressof(code))  # struct sock_fprog
    result = _call(
        _CALLS[machine]["seccomp"],
        ctypes.c_ulong(_SECCOMP_SET_MODE_FILTER),
        ctypes.c_ulong(_SECCOMP_FILTER_FLAG_TSYNC),
        program,
    )
    _checked("seccomp", result)
    if result:
        raise OSError(errno.ESRCH, f"seccomp could not cover thread {result}")


def _program(machine: str, write_to: int) -> list[bytes]:
    """The filter as BPF rows; after its value, a comparison has the rows to skip if so, if not."""
    calls = _CALLS[machine]
    allow, refuse = _lockdown_row(_RETURN, _ALLOW), _lockdown_row(_RETURN, _REFUSE)
    rows = [
        _lockdown_row(_LOAD, _MACHINE),  # the machine that the call is made for
        _lockdown_row(_EQUAL, _MACHINES[machine], 1),  # ours: skip the kill
        _lockdown_row(_RETURN, _KILL),  # another one, whose numbers mean other calls
        _lockdown_row(_LOAD, _NUMBER),  # from here on, the number of the call
    ]
    if machine == "x86_64":
        rows += [
            _lockdown_row(_AT_LEAST, _X32, 0, 1),  # an ordinary number: skip the kill
            _lockdown_row(_RETURN, _KILL),  # x32, a second way to make every call
        ]
    for name in ("mmap", "mprotect"):
        rows += [
            _lockdown_row(_EQUAL, calls[name], 0, 4),  # another call: skip this block
            _lockdown_row(_LOAD, _THIRD_ARGUMENT),  # the protection asked for
            _lockdown_row(_ANY_BIT, _PROT_EXEC, 0, 1),  # not executable: skip the refusal
            refuse,  # new executable memory
            allow,
        ]
    rows += [
        _lockdown_row(_EQUAL, calls["write"], 0, 4),  # another call: skip this block
        _lockdown_row(_LOAD, _FIRST_ARGUMENT),  # the file descriptor
        _lockdown_row(_EQUAL, write_to, 1),  # the one that answers go to: skip the refusal
        refuse,  # any other file
        allow,
    ]
    for name, number in calls.items():
        if name not in ("mmap", "mprotect", "write", "seccomp"):
            rows += [
                _lockdown_row(_EQUAL, number, 0, 1),  # another call: skip the next row
                allow,
            ]
    return [*rows, refuse]  # everything else, seccomp itself included


def _lockdown_row(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    """One struct sock_filter."""
    return struct.pack("<HBBI", code, if_so, if_not, value)
