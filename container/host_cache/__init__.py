"""One copy of each version per host, which every process of the host maps.

- `cache`: the versions of one table.
- `entries`: one version as a file.
- `folders`: where caches are, who uses them, and what a crash has left.
- `locks`: locks between processes, with deadlines.
- `own_folder`: private folders, in folders where every user may write.
"""
