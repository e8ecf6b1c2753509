"""Finds out why a run is stuck, and which task waits for which.

It looks at the run's processes from outside. The launcher uses it while the run
goes on, and so does `launch.py status`. It imports nothing heavy, so that
`status` answers within a second.

- `watchdog`: the thread that looks at a run, and prints what it finds.
- `snapshot`: what a run is doing now.
- `servers`: asks the run's servers, with deadlines.
- `reasons`: which task waits for which, and what a user can do about it.
- `stuck`: which tasks hang though they wait for no other, and in which calls.
- `status_page`: a snapshot as text.
"""
