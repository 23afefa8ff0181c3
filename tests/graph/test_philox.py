import numpy as np
import pytest

from gaancore.graph.philox import philox


# The known answers that the paper's authors publish with their Random123 library.
@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [
        (0, [0, 0, 0, 0], [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        (2**64 - 1, [2**32 - 1] * 4, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            0x299F31D0_A4093822,
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_gives_the_published_answers(key, counter, expected):
    low, high = philox(np.uint64(key), *counter)
    words = [int(half) >> shift & 0xFFFFFFFF for half in (low, high) for shift in (0, 32)]
    assert words == expected
