"""Every test of the kernels' contract, once more for the CUDA kernels in each emulated mode."""

from kernels.test_elementwise_kernels import *  # noqa: F403
from kernels.test_hostile_numbers import *  # noqa: F403
from kernels.test_kernel_examples import test_every_backend_gives_what_the_examples_say  # noqa: F401
from kernels.test_segment_kernels import *  # noqa: F403
