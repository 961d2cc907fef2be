"""Processes that never outlive the script that started them, and waiting for conditions instead of for time."""

import atexit
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

_children, _folders = [], []
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


def end_all():
    for process in _children:
        if process.poll() is None:
            process.kill()
    for process in _children:
        process.wait()
    _children.clear()


def new_folder(prefix, parent):
    """A folder that is gone when this script ends."""
    parent.mkdir(parents=True, exist_ok=True)
    _folders.append(pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=parent)))
    return _folders[-1]


@atexit.register
def clean_up():
    end_all()
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)
    _folders.clear()


def exit_on_signals():
    """Signals end the script at once, and leave nothing behind. Not by an exception: a Kafka client that is torn down in
    the middle of a request may wait for ever."""

    def leave(number, _):
        clean_up()
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, leave)


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
