"""Ways in which a file is damaged: by a disk, a transfer, an editor, a spreadsheet, or by intent.

    kind, damaged = mutate(content, np.random.default_rng(seed))

Each takes the bytes of a file and a generator, and returns other bytes, or None where it has
nothing to work on. The same seed gives the same damage.
"""

import re
from collections.abc import Callable

import numpy as np

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
EXTREME_TEXT = [
    *(b"0 -0 1 -1 -100 2 1e308 1e309 -1e308 1e39 1e-320 nan inf -inf NaN null true 0x10").split(),
    *(
        b"1_000 01 1.0 1e0 +1 2147483648 -2147483649 9223372036854775808 18446744073709551616"
    ).split(),
    b"",
    b" ",
    b'"',
    b"9" * 5000,
    b"1." + b"3" * 400,
    "١".encode(),  # a digit to Python, in Arabic
]
EXTREME_BYTES = [
    *(bytes([value]) * size for value in (0x00, 0x7F, 0x80, 0xFF) for size in (1, 2, 4, 8)),
    *(int(value).to_bytes(8, "little") for value in (2**31, 2**32, 2**40, 2**62)),
    *(np.array(value).tobytes() for value in (np.nan, np.inf, -1.0, 1e300)),
]
ENCODINGS = ["utf-16", "utf-16-be", "utf-32", "utf-8-sig", "cp037", "utf-7"]
SEPARATORS = (b",", b";", b"\t")

Generator = np.random.Generator
Mutation = Callable[[bytes, Generator], bytes | None]


def mutate(content: bytes, rng: Generator) -> tuple[str, bytes]:
    """The kind of damage and the damaged content, which differs from `content`."""
    while True:
        mutation = MUTATIONS[rng.integers(len(MUTATIONS))]
        damaged = mutation(content, rng)
        if damaged is not None and damaged != content:
            return mutation.__name__, damaged


def flipped_bits(content: bytes, rng: Generator) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        damaged[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def another_byte(content: bytes, rng: Generator) -> bytes:
    at = rng.integers(len(content))
    return content[:at] + rng.bytes(1) + content[at + 1 :]


def cut_off(content: bytes, rng: Generator) -> bytes:
    return content[: rng.integers(len(content))]


def inserted(content: bytes, rng: Generator) -> bytes:
    at = rng.integers(len(content) + 1)
    return content[:at] + rng.bytes(int(rng.integers(1, 20))) + content[at:]


def deleted(content: bytes, rng: Generator) -> bytes:
    at, stop = _range(content, rng)
    return content[:at] + content[stop:]


def doubled(content: bytes, rng: Generator) -> bytes:
    at, stop = _range(content, rng)
    return content[:stop] + content[at:]


def moved(content: bytes, rng: Generator) -> bytes:
    """A chunk of it written over another place."""
    at, stop = _range(content, rng)
    to = int(rng.integers(len(content)))
    return (content[:to] + content[at:stop] + content[to + stop - at :])[: len(content)]


def empty(content: bytes, rng: Generator) -> bytes:
    return b""


def with_nul(content: bytes, rng: Generator) -> bytes:
    at = rng.integers(len(content) + 1)
    return content[:at] + b"\0" + content[at:]


def extreme_number(content: bytes, rng: Generator) -> bytes | None:
    """A number of a text replaced, or bytes that may be a number."""
    if _is_text(content) and (found := list(NUMBER.finditer(content))):
        number = found[rng.integers(len(found))]
        extreme = EXTREME_TEXT[rng.integers(len(EXTREME_TEXT))]
        return content[: number.start()] + extreme + content[number.end() :]
    at, extreme = rng.integers(len(content)), EXTREME_BYTES[rng.integers(len(EXTREME_BYTES))]
    return (content[:at] + extreme + content[at + len(extreme) :])[: len(content)]


def swapped_lines(content: bytes, rng: Generator) -> bytes | None:
    return _lines(content, lambda lines: _swap(lines, *rng.integers(len(lines), size=2)))


def doubled_line(content: bytes, rng: Generator) -> bytes | None:
    return _lines(content, lambda lines: _double(lines, int(rng.integers(len(lines)))))


def deleted_line(content: bytes, rng: Generator) -> bytes | None:
    return _lines(content, lambda lines: lines.pop(rng.integers(len(lines))))


def deleted_column(content: bytes, rng: Generator) -> bytes | None:
    return _columns(content, rng, lambda cells, at: cells.pop(at))


def doubled_column(content: bytes, rng: Generator) -> bytes | None:
    return _columns(content, rng, _double)


def swapped_columns(content: bytes, rng: Generator) -> bytes | None:
    return _columns(content, rng, lambda cells, at: _swap(cells, 0, at))


def other_encoding(content: bytes, rng: Generator) -> bytes | None:
    if not _is_text(content):
        return None
    return content.decode().encode(ENCODINGS[rng.integers(len(ENCODINGS))], "replace")


def other_line_ends(content: bytes, rng: Generator) -> bytes | None:
    ends = [b"\r\n", b"\r", b"\n\n", b"\x0b", b"\r\r\n", b" \n"]
    return _lines(content, lambda lines: None, ends[rng.integers(len(ends))])


def other_separator(content: bytes, rng: Generator) -> bytes | None:
    if not _is_text(content):
        return None
    old, new = (SEPARATORS[place] for place in rng.permutation(len(SEPARATORS))[:2])
    return content.replace(old, new)


MUTATIONS: list[Mutation] = [
    flipped_bits, flipped_bits, another_byte, cut_off, inserted, deleted, doubled, moved, empty,
    with_nul, extreme_number, extreme_number, swapped_lines, doubled_line, deleted_line,
    deleted_column, doubled_column, swapped_columns, other_encoding, other_line_ends,
    other_separator,
]  # fmt: skip


def _range(content: bytes, rng: Generator) -> tuple[int, int]:
    """A chunk, often a short one."""
    at = int(rng.integers(len(content)))
    return at, min(len(content), at + int(2 ** rng.uniform(0, 7)))


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def _lines(
    content: bytes, change: Callable[[list[bytes]], object], end: bytes = b"\n"
) -> bytes | None:
    if not _is_text(content) or b"\n" not in content:
        return None
    lines = content.removesuffix(b"\n").split(b"\n")
    change(lines)
    return end.join(lines) + (end if content.endswith(b"\n") else b"")


def _columns(
    content: bytes, rng: Generator, change: Callable[[list[bytes], int], object]
) -> bytes | None:
    separator = next((s for s in SEPARATORS if s in content), b"")
    if not separator:
        return None
    at = int(rng.integers(1 + content.partition(b"\n")[0].count(separator)))

    def in_lines(lines: list[bytes]) -> None:
        for number, line in enumerate(lines):
            cells = line.split(separator)
            if at < len(cells):
                change(cells, at)
            lines[number] = separator.join(cells)

    return _lines(content, in_lines)


def _double(items: list[bytes], at: int) -> None:
    items.insert(at, items[at])


def _swap(items: list[bytes], a: int, b: int) -> None:
    items[a], items[b] = items[b], items[a]
