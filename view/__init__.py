"""A run as a terminal shows it while it goes on.

A folder of its own because it looks at all others' processes from outside, as
`watchdog` does, in a thread of the launcher's. What needs `rich` is imported by
that thread alone.

- `live`: chooses between the view and plain lines; the thread.
- `region`: the end of a terminal, drawn over and over.
- `gather`, `tail`: files and servers -> a state.
- `state`: what there is to show.
- `page`, `sparkline`: a state -> lines for `rich`.
"""
