"""Shows a run on a terminal while it goes on.

A thread of the launcher reads the run's files and asks its servers, as
`watchdog` does. Only that thread imports `rich`.

- `live`: the thread, and the choice between the view and plain lines.
- `gather`: makes a frame from the run's files and its servers' answers.
- `frame`: what the view shows at one moment.
- `page`, `sparkline`: turn a frame into lines for `rich`.
- `region`: draws lines at the end of a terminal, over and over.
- `capture`: catches what this process writes to its terminal meanwhile.
"""
