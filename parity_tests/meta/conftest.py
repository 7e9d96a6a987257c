"""The project's own tests: several CPU devices for the meshes, set before JAX starts."""

import jax

jax.config.update("jax_num_cpu_devices", 4)
