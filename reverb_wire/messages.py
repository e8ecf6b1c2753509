"""The messages that are read and written: names and numbers of their fields.

They are defined in Reverb 0.7's `reverb_service.proto` and `schema.proto`, and
in TensorFlow's `struct.proto`, `tensor.proto` and `tensor_shape.proto`. Fields
that this program does not use are left out.
"""

from reverb_wire import protobuf

_SERVICE = '/deepmind.reverb.ReverbService/'
SERVER_INFO_METHOD = _SERVICE + 'ServerInfo'
SAMPLE_METHOD = _SERVICE + 'SampleStream'
INSERT_METHOD = _SERVICE + 'InsertStream'

# Reverb: what a server says about itself.
SERVER_INFO_RESPONSE = protobuf.Message(
  tables_state_id=(1, bytes), table_info=(2, bytes)
)
TABLE_INFO = protobuf.Message(
  max_size=(3, int),
  rate_limiter_info=(5, bytes),
  signature=(6, bytes),
  current_size=(7, int),
  name=(8, bytes),
  table_worker_time=(12, bytes),
)
RATE_LIMITER_INFO = protobuf.Message(
  samples_per_insert=(1, float),
  min_diff=(2, float),
  max_diff=(3, float),
  min_size_to_sample=(4, int),
  insert_stats=(5, bytes),
  sample_stats=(6, bytes),
)
RATE_LIMITER_CALL_STATS = protobuf.Message(completed=(2, int))
TABLE_WORKER_TIME = protobuf.Message(
  waiting_for_sampling_ms=(5, int), waiting_for_inserts_ms=(6, int)
)

# Reverb: items, and the chunks that hold their tensors.
PRIORITIZED_ITEM = protobuf.Message(
  key=(1, int),
  table=(2, bytes),
  priority=(5, float),
  inserted_at=(7, bytes),
  flat_trajectory=(8, bytes),
)
TIMESTAMP = protobuf.Message(seconds=(1, int), nanos=(2, int))
FLAT_TRAJECTORY = protobuf.Message(columns=(1, bytes))
COLUMN = protobuf.Message(chunk_slices=(1, bytes))
CHUNK_SLICE = protobuf.Message(
  chunk_key=(1, int), offset=(2, int), length=(3, int), index=(4, int)
)
CHUNK_DATA = protobuf.Message(
  chunk_key=(1, int),
  sequence_range=(2, bytes),
  data=(5, bytes),
  data_tensors_len=(6, int),
)
SEQUENCE_RANGE = protobuf.Message(episode_id=(1, int))
TENSORS = protobuf.Message(tensors=(1, bytes))

# Reverb: requests and responses.
INSERT_STREAM_REQUEST = protobuf.Message(chunks=(1, bytes), item=(2, bytes))
SAMPLE_STREAM_REQUEST = protobuf.Message(
  table=(1, bytes),
  num_samples=(2, int),
  rate_limiter_timeout=(3, bytes),
  flexible_batch_size=(4, int),
)
TIMEOUT = protobuf.Message(milliseconds=(1, int))
SAMPLE_STREAM_RESPONSE = protobuf.Message(entries=(1, bytes))
SAMPLE_ENTRY = protobuf.Message(info=(1, bytes), data=(2, bytes))
SAMPLE_INFO = protobuf.Message(item=(1, bytes))

# TensorFlow: tensors.
TENSOR = protobuf.Message(
  dtype=(1, int), tensor_shape=(2, bytes), tensor_content=(4, bytes)
)
TENSOR_SHAPE = protobuf.Message(dim=(2, bytes), unknown_rank=(3, int))
DIM = protobuf.Message(size=(1, int))

# TensorFlow: signatures.
STRUCTURED_VALUE = protobuf.Message(
  none_value=(1, bytes),
  float64_value=(11, float),
  int64_value=(12, int),
  string_value=(13, bytes),
  bool_value=(14, int),
  tensor_shape_value=(31, bytes),
  tensor_dtype_value=(32, int),
  tensor_spec_value=(33, bytes),
  type_spec_value=(34, bytes),
  bounded_tensor_spec_value=(35, bytes),
  list_value=(51, bytes),
  tuple_value=(52, bytes),
  dict_value=(53, bytes),
  named_tuple_value=(54, bytes),
)
LIST_VALUE = protobuf.Message(values=(1, bytes))
DICT_VALUE = protobuf.Message(fields=(1, bytes))
NAMED_TUPLE_VALUE = protobuf.Message(name=(1, bytes), values=(2, bytes))
PAIR_VALUE = protobuf.Message(key=(1, bytes), value=(2, bytes))
TENSOR_SPEC = protobuf.Message(
  name=(1, bytes), shape=(2, bytes), dtype=(3, int)
)
