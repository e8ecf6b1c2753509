"""Where the processes of a Launchpad program run.

Nothing here knows of reinforcement learning: any `lp.Program` runs on these
backends.

- `tasks`: a built program as plain tasks, for every backend.
- `local`: run them as supervised processes of this machine.
"""
