"""The files of a run: where they are, and how they are written and read.

The ground floor: every other folder may import this one, and it imports none.

- `run_dir`: a run directory, its configuration, and which process has it.
- `assignments`: settings as text, as the configuration has an agent's.
- `status`: what the launcher and the tasks do, as a file.
- `scale_requests`: files that ask the launcher for more or fewer tasks.
- `metric_names`, `metrics`, `tail`, `rates`: rows of metrics, their columns,
  following them, and how fast a count rises.
- `whole_files`, `whole_folders`: writing without ever leaving half of it.
- `patience`, `damage`: disks that are full, and files that are damaged.
- `screen`: text that is safe to show.
"""
