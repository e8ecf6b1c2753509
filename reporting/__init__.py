"""Metrics as processes write them, and what is made of them afterwards.

While a run goes on, each process writes its own file:

- `loggers`: the logger of a process, which writes to the next two.
- `csv_logger`: a CSV file that loses no row.
- `terminal`: a line on the terminal for a row.
- `values`: metrics as Python numbers.
- `sinks`: TensorBoard, JSON lines and Weights & Biases, which follow the files.

From the files of one run or of several:

- `summary`, `curve`, `profile`: lines at a run's end, its learning curve, and
  where its time went.
- `scores`: what several runs came to.
- `report`: a page that compares runs. `run_groups` puts seeds together,
  `series` makes curves of rows, `figures` and `svg` draw them, and `page` fills
  the template `report.html`.
"""
