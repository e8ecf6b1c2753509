"""Why a run is stuck: who waits for whom, from what its servers say.

It looks at the run's processes from outside, for the launcher while the run
goes on, and for `launch.py status`. It imports nothing heavy, so that a status
is there within a second.

- `watchdog`: the thread that looks, and says what it finds.
- `snapshot`: what a run is doing now.
- `servers`: asks the run's servers, with deadlines.
- `reasons`: who waits for whom in a snapshot, and the way out.
- `stuck`: which tasks make no step by themselves, and where they stand.
- `status_page`: a snapshot as text.
"""
