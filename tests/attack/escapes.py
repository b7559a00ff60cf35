"""More hostile candidates: what they reach for outside of themselves, and how they try to outwit the quota, the channel and the clock."""

from __future__ import annotations

import runpy
from pathlib import Path

_candidates = runpy.run_path(str(Path(__file__).with_name("candidates.py")))
_hostile, _SYSCALL, _FRAME = _candidates["_hostile"], _candidates["_SYSCALL"], _candidates["_FRAME"]
_CHANNEL = "channel = lambda: socket.socket(fileno=os.dup(3))\n"
_FCNTL = "import fcntl, struct\n"
_FILES = "def big(name):\n    with open(name, 'wb') as f: f.write(bytes(15 << 20))\n"
_SLEEP = "time.sleep(60)"

ESCAPES = [
    # the quota
    _hostile(
        "nests 1,500 folders", "killed", "for _ in range(1500):", "    os.mkdir('a')", "    os.chdir('a')", _SLEEP
    ),
    _hostile(
        "writes below a path that is too long",
        "killed error",
        "for _ in range(60):",
        "    os.mkdir('a' * 200)",
        "    os.chdir('a' * 200)",
        "for n in range(9): big(str(n))",
        _SLEEP,
        top=_FILES,
    ),
    _hostile(
        "hides files in a folder of mode 0300",
        "killed error",
        "os.mkdir('d', 0o300)",
        "for n in range(9): big(f'd/{n}')",
        _SLEEP,
        top=_FILES,
    ),
    _hostile(
        "keeps files that have no name",
        "killed error",
        "kept = []",
        "for n in range(9):",
        "    big(str(n))",
        "    kept.append(open(str(n)))",
        "    os.unlink(str(n))",
        _SLEEP,
        top=_FILES,
    ),
    _hostile(
        "keeps files that are only mapped",
        "killed error",
        "import mmap",
        "kept = []",
        "for n in range(9):",
        "    big(str(n))",
        "    with open(str(n), 'r+b') as f: kept.append(mmap.mmap(f.fileno(), 4096))",
        "    os.unlink(str(n))",
        _SLEEP,
        top=_FILES,
    ),
    _hostile("makes 20,000 files", "killed timeout", "for n in range(20_000): open(str(n), 'w').close()", _SLEEP),
    _hostile("makes 20,000 folders", "killed timeout", "for n in range(20_000): os.mkdir(str(n))", _SLEEP),
    _hostile(
        "moves folders about while they are weighed",
        "timeout",
        "os.makedirs('a/b')",
        "while True:",
        "    os.rename('a/b', 'b')",
        "    os.rename('b', 'a/b')",
    ),
    _hostile("links its folder to everything", "timeout", "os.symlink('/', 'root')", "os.symlink('.', 'self')", _SLEEP),
    _hostile("leaves a pipe to be opened", "timeout", "os.mkfifo('pipe')", _SLEEP),
    _hostile("leaves names that are no text", "ok", "open(b'\\xff\\n\\x1b[2J', 'w').close()", "os.mkdir(b'-rf')"),
    _hostile(
        "leaves a nest behind", "ok killed", "for _ in range(600):", "    os.mkdir('a', 0o700)", "    os.chdir('a')"
    ),
    _hostile("leaves folders without modes", "ok", "os.makedirs('a/b/c')", "os.mkdir('a/b/c/d', 0)"),
    # signals and files of others
    _hostile("owns a signal by fcntl", "forbidden", "fcntl.fcntl(3, fcntl.F_SETOWN, os.getppid())", top=_FCNTL),
    _hostile(
        "owns a signal by FIOSETOWN",
        "forbidden",
        "fcntl.ioctl(3, 0x8901, struct.pack('i', os.getppid()))",
        top=_FCNTL,
    ),
    _hostile(
        "owns a signal by SIOCSPGRP",
        "forbidden",
        "fcntl.ioctl(3, 0x8902, struct.pack('i', os.getppid()))",
        top=_FCNTL,
    ),
    _hostile("types into the terminal", "forbidden", "fcntl.ioctl(1, 0x5412, b'x')", top=_FCNTL),
    _hostile("leases a system file", "forbidden", "fcntl.fcntl(os.open('/etc/passwd', 0), 1024, 0)", top=_FCNTL),
    _hostile("locks a system file", "forbidden", "fcntl.flock(os.open('/etc/passwd', 0), fcntl.LOCK_EX)", top=_FCNTL),
    _hostile(
        "locks a range of a system file",
        "forbidden",
        "fcntl.lockf(os.open('/etc/passwd', 0), fcntl.LOCK_SH)",
        top=_FCNTL,
    ),
    _hostile(
        "is told of changes in a folder",
        "forbidden",
        "fcntl.fcntl(os.open('/usr', 0), fcntl.F_NOTIFY, fcntl.DN_CREATE)",
        top=_FCNTL,
    ),
    _hostile("watches files by inotify", "forbidden", "check(libc.inotify_init1(0))", top=_SYSCALL),
    _hostile("watches files by fanotify", "forbidden", "check(libc.fanotify_init(0, 0))", top=_SYSCALL),
    _hostile("attaches shared memory", "forbidden", "check(libc.shmat(0, None, 0))", top=_SYSCALL),
    _hostile("removes shared memory", "forbidden", "check(libc.shmctl(0, 0, None))", top=_SYSCALL),
    _hostile("sends a System V message", "forbidden", "check(libc.msgsnd(0, b'x' * 16, 1, 0))", top=_SYSCALL),
    _hostile("takes a System V message", "forbidden", "check(libc.msgrcv(0, b'x' * 16, 1, 0, 0))", top=_SYSCALL),
    _hostile("moves a System V semaphore", "forbidden", "check(libc.semop(0, b'x' * 16, 1))", top=_SYSCALL),
    _hostile("removes a message queue", "forbidden", "check(libc.mq_unlink(b'/x'))", top=_SYSCALL),
    _hostile("slows its parent down", "forbidden", "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)"),
    _hostile("slows its user down", "forbidden", "os.setpriority(os.PRIO_USER, 0, 19)"),
    _hostile("moves its parent to a processor", "forbidden", "os.sched_setaffinity(os.getppid(), [0])"),
    _hostile("becomes a real-time process", "forbidden", "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"),
    _hostile("stops its parent", "forbidden", "os.kill(os.getppid(), signal.SIGSTOP)"),
    _hostile("holds its parent by a descriptor", "forbidden", "os.pidfd_open(os.getppid())"),
    _hostile("flushes every disk", "forbidden", "check(libc.syncfs(1))", top=_SYSCALL),
    _hostile("makes a device", "forbidden", "os.mknod('x', 0o20666, os.makedev(1, 1))"),
    _hostile("gives a system file a name of its own", "forbidden error", "os.link('/etc/passwd', 'x')"),
    _hostile("looks at its neighbours' folders", "forbidden", "return os.listdir('..')"),
    _hostile("reads its own memory map", "forbidden", "return open('/proc/self/maps').read()"),
    _hostile("reads the kernel's log", "forbidden", "return open('/dev/kmsg').read()"),
    _hostile("opens the terminal", "forbidden", "return open('/dev/tty').read()"),
    # system calls
    _hostile("takes a ring", "forbidden", "check(libc.syscall(425, 8, b'x' * 120))", top=_SYSCALL),
    _hostile("takes a descriptor of another", "forbidden", "check(libc.syscall(438, 1, 0, 0))", top=_SYSCALL),
    _hostile("makes a call that is not known yet", "error", "check(libc.syscall(480))", top=_SYSCALL),
    _hostile("filters its own calls", "forbidden", "check(libc.prctl(22, 2, b'x' * 16))", top=_SYSCALL),
    _hostile("hides from inspection", "forbidden", "check(libc.prctl(4, 0, 0, 0, 0))", top=_SYSCALL),
    _hostile("forks from C", "forbidden", "check(libc.fork())", top=_SYSCALL),
    _hostile("spawns", "forbidden error", "os.posix_spawn('/bin/sleep', ['sleep', '600'], {})"),
    _hostile("writes a program to memory", "forbidden", "os.memfd_create('x')"),
    _hostile("joins its parent's namespaces", "forbidden", "check(libc.setns(0, 0))", top=_SYSCALL),
    # what the kernel counts by user
    _hostile(
        "makes 30,000 threads with small stacks",
        "killed error memory timeout",
        "import threading",
        "threading.stack_size(32768)",
        "for _ in range(30_000): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        _SLEEP,
    ),
    _hostile(
        "queues signals without end",
        "error",
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})",
        "while True: check(libc.sigqueue(os.getpid(), signal.SIGRTMIN, None))",
        top=_SYSCALL,
    ),
    _hostile(
        "makes timers without end",
        "error",
        "box = ctypes.c_void_p()",
        "while True: check(libc.timer_create(1, None, ctypes.byref(box)))",
        top=_SYSCALL,
    ),
    # the channel and the clock
    _hostile("sends an urgent byte and sleeps", "forbidden", "channel().send(b'x', socket.MSG_OOB)", top=_CHANNEL),
    _hostile("sends descriptors", "forbidden", "socket.send_fds(channel(), [b'x'], [1])", top=_CHANNEL),
    _hostile("gives the channel a name", "forbidden", "channel().bind('\\0x')", top=_CHANNEL),
    _hostile("listens on the channel", "forbidden", "channel().listen()", top=_CHANNEL),
    _hostile("shuts the channel", "error killed", "channel().shutdown(2)", "return 1", top=_CHANNEL),
    _hostile(
        "answers without end",
        "ok invalid",
        "while True: everywhere(frame({'n': 0, 's': 'ok', 'v': 1}))",
        top=_FRAME,
    ),
    _hostile(
        "answers what was not asked",
        "invalid",
        "everywhere(frame({'n': 5, 's': 'ok', 'v': 1}))",
        _SLEEP,
        top=_FRAME,
    ),
    _hostile(
        "answers with a deep nest",
        "invalid",
        "everywhere(struct.pack('<II', 100_000, 0) + b'[' * 100_000)",
        _SLEEP,
        top=_FRAME,
    ),
    _hostile(
        "answers with a number of 100,000 digits",
        "invalid",
        "everywhere(struct.pack('<II', 100_000, 0) + b'1' * 100_000)",
        _SLEEP,
        top=_FRAME,
    ),
    _hostile(
        "announces an answer and never ends it",
        "timeout",
        "everywhere(struct.pack('<II', 1000, 0) + b'[')",
        _SLEEP,
        top=_FRAME,
    ),
    _hostile("waits for a signal", "timeout", "signal.pause()"),
    _hostile("shortens its own time", "timeout killed", "import resource", "resource.setrlimit(0, (0, 0))", _SLEEP),
    _hostile("raises a message of 10 MB", "error timeout", "raise ValueError('x' * (10 << 20))"),
    _hostile("raises a message for the terminal", "error", "raise ValueError('\\x1b[2J\\x07\\x9b')"),
]
