"""A picture of a page in fewer bytes: with a palette, for a page has few colours that matter."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

__all__ = ["smaller"]

Colour = tuple[int, int, int]
_HEAD = b"\x89PNG\r\n\x1a\n"
_MOST = 256


def smaller(png: bytes) -> bytes:
    """The same picture in at most 256 colours: the most frequent ones, each other one as the nearest of them.

    Takes what chromium makes, eight bits a channel and not interlaced. Raises `ValueError` for another form.
    """
    chunks = dict(_chunks(png))
    width, height, depth, kind, *_, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    if depth != 8 or kind not in (2, 6) or interlaced:
        raise ValueError(f"a picture of {depth} bits and kind {kind} is none of chromium's")
    size = 4 if kind == 6 else 3
    rows = [_colours(row, size) for row in _rows(zlib.decompress(chunks[b"IDAT"]), width * size, size)]
    palette, index = _palette(Counter(colour for row in rows for colour in row))
    lines = b"".join(b"\0" + bytes(map(index.__getitem__, row)) for row in rows)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return _HEAD + b"".join(_chunk(name, data) for name, data in parts)


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The parts of a file; the pieces of its picture as one."""
    at, image = len(_HEAD), b""
    while at < len(png):
        length, name = struct.unpack_from(">I4s", png, at)
        data = png[at + 8 : at + 8 + length]
        image += data if name == b"IDAT" else b""
        yield name, image if name == b"IDAT" else data
        at += length + 12


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _rows(raw: bytes, length: int, size: int) -> Iterator[bytes]:
    """The lines of the picture, each told by its difference from what stands left of it and above."""
    above = bytes(length)
    for at in range(0, len(raw), length + 1):
        above = _plain(raw[at], bytearray(raw[at + 1 : at + 1 + length]), above, size)
        yield above


def _plain(how: int, row: bytearray, above: bytes, size: int) -> bytes:
    for at in range(len(row) if how else 0):
        left, corner = (row[at - size], above[at - size]) if at >= size else (0, 0)
        guess = (0, left, above[at], (left + above[at]) // 2, _paeth(left, above[at], corner))[how]
        row[at] = (row[at] + guess) & 255
    return bytes(row)


def _paeth(left: int, above: int, corner: int) -> int:
    """Of the three neighbours the one that is nearest to where they lead."""
    ahead = left + above - corner
    return min((left, above, corner), key=lambda one: abs(ahead - one))


def _colours(row: bytes, size: int) -> list[Colour]:
    return list(zip(row[0::size], row[1::size], row[2::size], strict=True))


def _palette(seen: Counter[Colour]) -> tuple[bytes, dict[Colour, int]]:
    kept = [colour for colour, _ in sorted(seen.items(), key=lambda one: (-one[1], one[0]))[:_MOST]]
    index = {colour: at for at, colour in enumerate(kept)}
    nearest = {colour: min(kept, key=lambda one: _distance(one, colour)) for colour in seen if colour not in index}
    index |= {colour: index[near] for colour, near in nearest.items()}
    return bytes(part for colour in kept for part in colour), index


def _distance(one: Colour, other: Colour) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
