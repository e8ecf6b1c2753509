"""All code that depends on parts of other packages that are not public.

`import compat` patches JAX and TensorFlow Probability, so that dm-acme 0.4.0
runs on JAX 0.6 and TensorFlow 2.8 (see `patches`). Every process must do this
before it imports Acme. To import it again costs nothing.

The other modules use private names of a package, which begin with an
underscore. The package's next release may rename them. Each use is one small
function, and its docstring says why it is needed. The modules are:

acme_internals       actors, adders and builders of dm-acme 0.4.0
launchpad_internals  nodes and worker managers of dm-launchpad 0.5.0
bsuite_internals     an experiment of bsuite 0.3.6

No other folder uses private names (`tests/test_compat.py` checks this). There
are two exceptions, since these modules cannot import this package:
`policies.functions` makes JAX's `Exported` where only JAX is installed, and
`backends.process.zygote` asks whether JAX has started, if it was imported.

Once dm-acme releases a version written for current JAX, delete `patches`.
"""

from compat import patches

patches.apply()
