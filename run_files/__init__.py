"""The files of a run: where they are, and how they are written and read.

This folder is the ground floor: every other folder may import it, and it
imports no other.

- `run_dir`: a run directory, its configuration, and the lock of its process.
- `assignments`: an agent's settings as text, as `--config` takes them.
- `status`: the file that says what the launcher and the tasks do.
- `scale_requests`: files that ask the launcher for more or fewer tasks.
- `metric_names`: the columns of the CSV files of metrics.
- `metrics`, `tail`: read rows of metrics, once or while they are written.
- `rates`: how fast a count of metrics rises.
- `whole_files`, `whole_folders`: write so that no reader sees half of a file.
- `patience`, `damage`: disks that are full, and files that are damaged.
- `screen`: text that is safe to show.
"""
