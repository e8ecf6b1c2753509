"""All that leans on what other packages do not promise.

`import compat` patches JAX and TensorFlow Probability, so that dm-acme 0.4.0
runs on JAX 0.6 and TensorFlow 2.8 (see `patches`). Every process must do this
before it imports Acme; to repeat it costs nothing.

The other modules open private parts of a package, which its next release may
rename: names with a leading underscore. Each is one small function, which says
why it is needed:

acme_internals       actors, adders and builders of dm-acme 0.4.0
launchpad_internals  nodes and worker managers of dm-launchpad 0.5.0
bsuite_internals     an experiment of bsuite 0.3.6

No other folder opens one (`tests/test_compat.py` checks it), with two
exceptions, which cannot import this package: `policies.functions` makes JAX's
`Exported` where only JAX is installed, and `backends.process.zygote` asks
whether JAX has started, if something has imported JAX at all.

Once dm-acme releases a version written for current JAX, delete `patches`.
"""

from compat import patches

patches.apply()
