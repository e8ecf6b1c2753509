"""A run on a terminal while it goes on.

A thread of the launcher's looks at the run's files and servers from outside, as
`watchdog` does. What needs `rich` is imported by that thread alone.

- `live`: the thread, and the choice between the view and plain lines.
- `gather`: makes a frame of files and of what servers say.
- `frame`: what the view shows at one moment.
- `page`, `sparkline`: make lines for `rich` of a frame.
- `region`: draws lines at the end of a terminal, over and over.
- `capture`: takes what this process writes to its terminal meanwhile.
"""
