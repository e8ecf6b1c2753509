"""Why is it stuck? Who waits for whom in a run, from what its servers say.

A folder of its own because it looks at all others' processes from outside, for
the launcher while it runs and for `launch.py status`. It imports nothing
heavy, so that a status is there within a second.

- `snapshot`: what a run is doing now.
- `reasons`: a snapshot -> who waits for whom, and the way out.
- `stuck`: who makes no step by itself, and where it stands.
- `servers`: asking servers, with deadlines.
- `status`: a snapshot as text.
- `stall`: the watchdog itself.
"""
