"""What a Reverb server answers, read byte by byte: light, and wary.

Reverb's generated classes import TensorFlow, which takes longer than a status
may, and whoever listens at an address may answer anything.

- `protobuf`: fields of messages, in linear time and until a deadline.
- `server_info`: tables of a server.
"""
