"""Lets dm-acme 0.4.0 run on JAX 0.6 and TensorFlow 2.8.

A folder of its own because every process must import it before Acme:
`import compat` is enough, and repeating it costs nothing. Once dm-acme releases
a version written for current JAX, delete this folder.
"""

from compat import patches

patches.apply()
