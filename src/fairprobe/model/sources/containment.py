"""The first code that runs in the process of an isolated model: it limits the process before it imports anything.

It is given to the interpreter as text, and imports only the standard library. A process may only leave the namespaces
of the system while it has one thread, and numeric packages start threads when they are imported.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import select
import signal
import struct
import sys

NEW_MOUNTS, NEW_USER, NEW_PROCESSES, NEW_NETWORK = 0x20000, 0x10000000, 0x20000000, 0x40000000
"""Flags of Linux's `unshare` for new namespaces: mounts, users, processes and network."""

MACHINES = {
    "x86_64": (0xC000003E, 56, (41, 57, 58, 59, 62, 101, 165, 166, 200, 272, 308, 322, 425, 428, 429, 430, 432, 442)),
    "aarch64": (0xC00000B7, 220, (39, 40, 97, 117, 129, 130, 198, 221, 268, 281, 425, 428, 429, 430, 432, 442)),
}
"""Three entries by machine, from Linux's audit.h and unistd.h: the number of the architecture, that of the system call
clone, and those of the refused calls. The refused calls are socket, fork, vfork, execve, kill, ptrace, tkill, execveat,
io_uring_setup, and those that mount file systems or change namespaces."""

CLONE3 = 435
OPEN_FILES = 256
"""Largest number of files that an isolated model's process may have open. Chosen."""

SECONDS = 0.2
"""Seconds between two checks whether an isolated model's process has ended. Chosen."""


def shut_in() -> list[str]:
    """Take from this process the network, new processes and writing to files; return in words what it still has.

    The process forks: the child returns from this function. The original process waits for the child, and kills it with
    all that it started once standard input is closed.
    """
    linux = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    others, user, group = NEW_PROCESSES | NEW_NETWORK, os.getuid(), os.getgid()
    unshared = [flags for flags in (others | NEW_USER | NEW_MOUNTS, others) if linux and not linux.unshare(flags)][:1]
    if unshared and unshared[0] & NEW_USER:  # without a name there, this user could not even make an empty file
        for name, text in ("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1"):
            with contextlib.suppress(OSError), open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    for first in (True, False)[: 1 + bool(unshared)]:
        if (child := os.fork()) != 0:
            os._exit(_wait_for(child, watches=first))
    limit()
    is_read_only = bool(unshared and unshared[0] & NEW_MOUNTS and linux and _make_read_only(linux))
    is_filtered = bool(linux and _refuse_calls(linux))
    missing = {
        "network": unshared or is_filtered,
        "other processes": is_filtered,
        "files that are written": is_read_only,
    }
    return [name for name, holds in missing.items() if not holds]


def limit() -> None:
    """Limit the number of open files of this process, and forbid writing to files."""
    import resource

    for name, most in ((resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, OPEN_FILES)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(name, (most, most))


def _wait_for(child: int, *, watches: bool) -> int:
    """Wait for a child process and return its exit code.

    With `watches`, kill the whole process group once standard input is closed.
    """
    os.close(1)
    poll = select.poll()
    poll.register(0, 0)  # its end alone, not what comes
    while True:
        if watches and poll.poll(SECONDS * 1000):
            os.killpg(0, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            ended, status = os.waitpid(-1, os.WNOHANG if watches else 0)
            if ended == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code


def _make_read_only(linux: ctypes.CDLL) -> bool:
    attributes = struct.pack("QQQQ", 1, 0, 1 << 18, 0)  # read-only, and private
    if linux.syscall(442, -100, b"/", 0x8000, attributes, ctypes.c_size_t(len(attributes))) != 0:  # mount_setattr
        return False
    # Older packages make an empty file or folder as they are imported: they may, in memory of this process alone.
    linux.mount(b"tmpfs", os.fsencode(os.environ["TMPDIR"]), b"tmpfs", 6, b"size=64k")  # no devices, no setuid
    return True


def _refuse_calls(linux: ctypes.CDLL) -> bool:
    """Make Linux refuse this process new processes, programs and sockets, by a filter of system calls (seccomp).

    Returns True if the filter is in force.
    """
    if platform.machine() not in MACHINES:
        return False
    machine, clone, refused = MACHINES[platform.machine()]
    allow, deny, absent, end = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
    code = [(0x20, 0, 0, 4), (0x15, 1, 0, machine), (0x06, 0, 0, end), (0x20, 0, 0, 0)]
    code += [(0x35, 0, 1, 0x40000000), (0x06, 0, 0, end), (0x15, 0, 1, CLONE3), (0x06, 0, 0, absent)]
    for number in refused:
        code += [(0x15, 0, 1, number), (0x06, 0, 0, deny)]
    code += [(0x15, 0, 3, clone), (0x20, 0, 0, 16), (0x45, 1, 0, 0x10000), (0x06, 0, 0, deny), (0x06, 0, 0, allow)]
    steps = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in code))
    program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(steps))
    return linux.prctl(38, 1, 0, 0, 0) == 0 and linux.prctl(22, 2, program, 0, 0) == 0


if __name__ == "__main__":
    sys.path[:] = sys.argv[1:]
    missing = shut_in()
    from fairprobe.model.sources.child import main

    main(missing)
