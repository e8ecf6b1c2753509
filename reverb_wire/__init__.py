"""How a Reverb server is spoken to: its messages, byte by byte.

Light and wary: Reverb's generated classes import TensorFlow, which takes longer
than printing a status may take, and any program may answer at an address.

- `protobuf`: reads and writes fields of messages; reading takes linear time and
  ends at a deadline.
- `messages`: which fields the messages have that are read and written here.
- `server_info`: reads what a server says of its tables.
- `table_info`: one table, and what its rate limiter lets through.
- `structured_value`: reads the signature of a table.
- `dtypes`: TensorFlow's numbers for the types of tensors.
- `snappy`: the form that tensors' memory has in messages.
- `samples`: asks for one item of a table, and reads it.
- `inserts`: writes one item for a table.
"""
