"""One copy of each version per host, which every process of the host maps.

- `cache`: the versions of one table.
- `entries`: one version as a file.
- `folders`: makes, shares and removes the folders of caches.
- `locks`: locks between processes, with deadlines.
- `own_folder`: private folders, in folders where every user may write.
"""
