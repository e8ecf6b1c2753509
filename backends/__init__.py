"""Where the processes of a Launchpad program run.

Nothing here knows of reinforcement learning: any `lp.Program` runs on these
backends. Imports go down this list only.

- `api`, `registry`: what a backend is, and which ones there are.
- `local`, `slurm`, `ray`, `kubernetes`, `vertex`, `stock`: a backend each.
- `cluster`: the daemons of several nodes, which the launcher uses as one.
- `supervision`: the launcher, which starts, restarts and stops the tasks.
- `process`: the zygote that tasks are forked off, and the process of a task.

Where a question is decided:

- does a task that crashed start again? `supervision.restarts`
- in which order does a run stop, and how does a stop travel?
  `supervision.stopping`
- which states has a task? `run_files.status`; which follows which?
  `supervision.task`
- what do the launcher and its processes tell each other? `process.messages`
- who makes the call key, by which tasks prove to each other that they belong to
  the run? `supervision.run_tasks`
- who makes the daemon key, by which daemons join? the backend: `ray.placement`,
  `kubernetes.backend`
"""
