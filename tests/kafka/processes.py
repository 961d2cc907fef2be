"""Processes that never outlive the script that started them, and waiting for conditions instead of for time."""

import atexit
import ctypes
import os
import signal
import subprocess
import sys
import time

_children = []
_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def _prepare():
    """In the child: it dies with its parent, and a full disk (RLIMIT_FSIZE) is an error instead of a signal.
    Control-C is for the script alone, which then ends its children in order."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    os.setsid()


def spawn(command, **options):
    """A process that is killed when this one ends, however that happens. To be called by the main thread, since the
    kernel takes the end of the thread that started a process for the end of its parent. Signals that Python ignores
    by itself stay ignored in the child, as its user would not have them, but for SIGPIPE (restore_signals off)."""
    process = subprocess.Popen([str(word) for word in command], preexec_fn=_prepare, restore_signals=False, **options)
    _children.append(process)
    return process


@atexit.register
def end_all():
    for process in _children:
        if process.poll() is None:
            process.kill()
    for process in _children:
        process.wait()
    _children.clear()


def exit_on_signals():
    """SIGTERM and SIGHUP end the script as an error would: everything is cleaned up."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))


class Late(Exception):
    """A condition that did not come true in time."""


def wait_for(condition, what, seconds=60, every=0.05):
    """Returns what the condition gives as soon as that is true, or raises Late."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise Late(f"waited {seconds} s in vain for {what}")
        time.sleep(every)
