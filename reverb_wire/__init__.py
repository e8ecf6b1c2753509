"""Reads and writes the messages of a Reverb server, byte by byte.

Reverb's generated classes would import TensorFlow, which takes too long for a
command that prints a status. Any program may answer at an address, so
everything that is read is checked.

- `protobuf`: reads and writes fields of messages; reading takes linear time and
  ends at a deadline.
- `messages`: the messages and their fields.
- `server_info`: reads what a server says about its tables.
- `table_info`: describes one table, and what its rate limiter lets through.
- `structured_value`: reads the signature of a table.
- `dtypes`: TensorFlow's numbers for the types of tensors.
- `snappy`: the compression of tensors' memory in messages.
- `samples`: asks for one item of a table, and reads it.
- `inserts`: writes one item for a table.
"""
