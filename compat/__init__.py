"""All that leans on what dm-acme, JAX and Launchpad do not promise.

`import compat` patches JAX and TensorFlow Probability, so that dm-acme 0.4.0
runs on JAX 0.6 and TensorFlow 2.8 (see `patches`). Every process must do this
before it imports Acme; to repeat it costs nothing.

The other modules open private parts, names with a leading underscore, which
another release may rename. Each is one small function here, and nodes/,
programs/ and benchmarks/ open none themselves:

acme_internals       actors, adders and builders of dm-acme 0.4.0
launchpad_internals  nodes and worker managers of dm-launchpad 0.5.0

Once dm-acme releases a version written for current JAX, delete `patches`.
"""

from compat import patches

patches.apply()
