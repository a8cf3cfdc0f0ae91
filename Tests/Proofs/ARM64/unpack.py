#!/usr/bin/env python3
"""Unpacks what a package of Debian's has below some directories.

    unpack.py PACKAGE TARGET PREFIX...

Of the archive's blocks only those are decompressed in which a member begins or a wanted one lies: of the compiler's
package, whose members are large, less than half."""
import bisect
import io
import lzma
import sys
import tarfile


class Blocks(io.RawIOBase):
    """What the blocks of an xz stream hold, as a file."""

    def __init__(self, file, start, end):
        self.file, self.place, self.number = file, 0, -1
        file.seek(start)
        self.header = file.read(12)
        file.seek(end - 8)
        size = (int.from_bytes(file.read(4), "little") + 1) * 4
        file.seek(end - 12 - size)
        index = iter(file.read(size)[1:])

        def integer():
            value = shift = 0
            while True:
                byte = next(index)
                value |= (byte & 0x7F) << shift
                if byte < 0x80:
                    return value
                shift += 7

        self.blocks, self.starts, self.size = [], [], 0
        position = start + 12
        for _ in range(integer()):
            length = -(-integer() // 4) * 4
            self.blocks.append((position, length))
            self.starts.append(self.size)
            position += length
            self.size += integer()

    def seekable(self):
        return True

    def readable(self):
        return True

    def seek(self, offset, whence=io.SEEK_SET):
        self.place = offset + (0, self.place, self.size)[whence]
        return self.place

    def readinto(self, buffer):
        if self.place >= self.size:
            return 0
        number = bisect.bisect_right(self.starts, self.place) - 1
        if number != self.number:
            position, length = self.blocks[number]
            self.file.seek(position)
            # The stream ends after this block.
            self.data = lzma.LZMADecompressor().decompress(self.header + self.file.read(length))
            self.number = number
        offset = self.place - self.starts[number]
        part = self.data[offset : offset + len(buffer)]
        buffer[: len(part)] = part
        self.place += len(part)
        return len(part)


def stream(file):
    """Where the xz stream begins and ends: a package is an ar(5) archive."""
    file.seek(8)
    while head := file.read(60):
        size = int(head[48:58])
        if head.startswith(b"data.tar.xz"):
            return file.tell(), file.tell() + size
        file.seek(size + size % 2, io.SEEK_CUR)
    sys.exit("no data.tar.xz")


package, target, *prefixes = sys.argv[1:]
with open(package, "rb") as file:
    blocks = io.BufferedReader(Blocks(file, *stream(file)))
    with tarfile.open(fileobj=blocks, mode="r:") as archive:
        # apt has already verified the package's digest.
        archive.extraction_filter = lambda member, path: member
        for member in archive:
            if member.name.removeprefix("./").startswith(tuple(prefixes)):
                archive.extract(member, target)
