"""Programs of stdio servers, confined by the kernel (Linux): Landlock for files, seccomp for system calls.

`kernel.py`        what this kernel can do
`reach.py`         which files a program may read and write
`syscall_filter.py` which system calls it may make; their numbers are in `syscall_numbers.py`
`confine.py`       all of it for one start: what is run, and with which environment
`become.py`        run as the child: applies what the others decided, and becomes the program

Must not know servers, pipes, signals or the protocol: `upstreams.child` starts what `confine` says. The
limits are in docs/security.md, the reasons in docs/decisions/0031-sandbox.md.
"""
