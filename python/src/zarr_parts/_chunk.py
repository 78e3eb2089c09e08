"""How a chunk is read from its parts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype

from zarr_parts._below import Below, Bytes
from zarr_parts._errors import MissingPartError, PartSizeError, UnfinishedWriteError
from zarr_parts._layout import ArrayLayout, Part, ShardIndex

READ_WHOLE = 256 * 1024
"""The greatest size of a part that is read whole where a range is needed, which checks its length without a request."""

FILE_RECORD_SIZE = 32
"""The size of the record of an adopted file, which is before the index in the index part."""

AS_IT_IS = (Part(""),)

type Wanted = tuple[int, ByteRequest]
"""A part and the range of it to read."""


@dataclass(frozen=True)
class StoredChunk:
    """A value of the store below.

    Attributes
    ----------
    below
        The store that has the parts.
    key
        The key to which the suffixes of parts are appended.
    layout
        That of the array that the value is a chunk of; `None` for a value that is shown as it is.
    """

    below: Below
    key: str
    layout: ArrayLayout | None = None

    @property
    def parts(self) -> Sequence[Part]:
        return self.layout.parts if self.layout else AS_IT_IS

    async def read(self, byte_range: ByteRequest | None, prototype: BufferPrototype) -> Buffer | None:
        """Read the chunk or a range of it; `None` for a chunk of which no part is stored."""
        if self.layout is None:
            return await self.below.get(self.key, byte_range, prototype)
        pieces = await (self._read_whole() if byte_range is None else self._read_range(byte_range))
        return None if pieces is None else prototype.buffer.from_bytes(_join(pieces).data)

    async def size(self) -> int | None:
        """Return the length of all parts together; `None` for a chunk of which no part is stored."""
        sizes = await self._sizes()
        return None if sizes is None else sum(sizes)

    async def _sizes(self) -> list[int] | None:
        found = await self.below.each(self.below.size, map(self._key, range(len(self.parts))))
        sizes = await self._complete(dict(enumerate(found)))
        for part, size in enumerate(sizes or []):
            self._check_size(part, size)
        return sizes

    async def _read_whole(self) -> list[Bytes] | None:
        values = await self.below.get_all([self._key(part) for part in range(len(self.parts))])
        pieces = await self._complete(dict(enumerate(values)))
        if pieces is None:
            return None
        for part, piece in enumerate(pieces):
            self._check_size(part, len(piece))
        index = self.layout and self.layout.index
        if index and any(part.size is None for part in self.parts):
            lengths = [len(piece) for piece in pieces]
            near = pieces[:1] if index.is_first else pieces[-1:]
            bytes_near = _join(near if len(near[0]) >= index.size else pieces)
            self._check_index(index, bytes_near[: index.size] if index.is_first else bytes_near[-index.size :], lengths)
        return pieces

    async def _read_range(self, byte_range: ByteRequest) -> list[Bytes] | None:
        wanted = ranges_of_parts(byte_range, [part.size for part in self.parts])
        pieces = await self._fetch(wanted)
        if pieces is None or (pieces and not any(map(self._is_short, wanted, pieces))):
            return pieces
        # The range goes on in the parts around an unsized one, or is behind the chunk.
        sizes = await self._sizes()
        if sizes is None:
            return None
        index = self.layout and self.layout.index
        if index and isinstance(byte_range, RangeByteRequest):
            where = RangeByteRequest(0, index.size) if index.is_first else SuffixByteRequest(index.size)
            found = await self._fetch(ranges_of_parts(where, sizes))
            if found is not None:
                self._check_index(index, _join(found), sizes)
        pieces = await self._fetch(ranges_of_parts(byte_range, sizes))
        if isinstance(byte_range, RangeByteRequest) and byte_range.start < byte_range.end and not any(map(len, pieces or ())):
            # zarr-python would take no bytes for an absent inner chunk.
            raise self._too_short(sizes, byte_range.end - sum(sizes))
        return pieces

    def _is_short(self, wanted: Wanted, piece: Bytes) -> bool:
        """Whether a part ended before the range of it."""
        part, byte_range = wanted
        if isinstance(byte_range, RangeByteRequest):
            return len(piece) < byte_range.end - byte_range.start
        if isinstance(byte_range, SuffixByteRequest):
            return len(piece) < byte_range.suffix and part > 0
        return len(piece) == 0 and byte_range.offset > 0

    async def _fetch(self, wanted: Sequence[Wanted]) -> list[Bytes] | None:
        """Read ranges of parts, and check the length of each part with a size."""
        pieces = await self.below.each(self._fetch_part, wanted)
        return await self._complete({part: piece for (part, _), piece in zip(wanted, pieces, strict=True)})

    async def _fetch_part(self, wanted: Wanted) -> Bytes | None:
        part, byte_range = wanted
        key, size = self._key(part), self.parts[part].size
        if size is None:
            buffer = await self.below.get(key, byte_range)
            return None if buffer is None else buffer.as_numpy_array()
        if size > READ_WHOLE and byte_range != RangeByteRequest(0, size):
            length = await self.below.size(key)
            if length is not None:
                self._check_size(part, length)
            buffer = await self.below.get(key, byte_range)
            return None if buffer is None else buffer.as_numpy_array()
        buffer = await self.below.get(key)
        if buffer is None:
            return None
        self._check_size(part, len(buffer))
        assert isinstance(byte_range, RangeByteRequest)
        return buffer.as_numpy_array()[byte_range.start : byte_range.end]

    def _check_size(self, part: int, length: int) -> None:
        size = self.parts[part].size
        if size is not None and size != length:
            raise PartSizeError(self._key(part), size, length)

    def _check_index(self, index: ShardIndex, found: Bytes, lengths: Sequence[int]) -> None:
        """Refuse a shard whose index names bytes behind the inner chunks: an unsized part was cut short.

        zarr-python would read on into an index at the end, and take no bytes for an absent inner chunk.
        """
        entries = np.frombuffer(found[: len(found) // 16 * 16].tobytes(), "<u8").reshape(-1, 2)
        ends = entries[entries[:, 0] != 2**64 - 1].sum(axis=1)
        behind = 0 if index.is_first else index.size
        if behind and self.parts[-1].size == behind + FILE_RECORD_SIZE:
            behind += FILE_RECORD_SIZE
        beyond = int(ends.max(initial=0)) - (sum(lengths) - behind)
        if beyond > 0:
            raise self._too_short(lengths, beyond)

    def _too_short(self, lengths: Sequence[int], beyond: int) -> PartSizeError:
        unsized = [i for i, part in enumerate(self.parts) if part.size is None]
        part = unsized[0] if unsized else len(self.parts) - 1
        return PartSizeError(self._key(part), lengths[part] + beyond, lengths[part], at_least=True)

    async def _complete[T](self, values: dict[int, T | None]) -> list[T] | None:
        """Return what was read of parts, or `None` if no part of the chunk is stored, and raise an error if some are."""
        found = [value for value in values.values() if value is not None]
        if len(found) == len(values):
            return found
        stored = {part: value is not None for part, value in values.items()}
        for part in range(len(self.parts)):
            if part not in stored:
                stored[part] = await self.below.size(self._key(part)) is not None
        if not any(stored.values()):
            return None
        if await self.below.is_unfinished(self.key):
            raise UnfinishedWriteError(self.key)
        keys = {self._key(part): stored[part] for part in range(len(self.parts))}
        present = [key for key, is_stored in keys.items() if is_stored]
        raise MissingPartError(self.key, [key for key in keys if key not in present], present)

    def _key(self, part: int) -> str:
        return self.key + self.parts[part].suffix


def ranges_of_parts(byte_range: ByteRequest, sizes: Sequence[int | None]) -> list[Wanted]:
    """Return the ranges of parts that make up a range of their chunk.

    Where the size of a part is not known, the range is taken to end in that part, or to begin
    in it if it is counted from the end.
    """
    wanted: list[Wanted] = []
    if isinstance(byte_range, SuffixByteRequest):
        left = byte_range.suffix
        for part in reversed(range(len(sizes))):
            size = sizes[part]
            if size is None:
                return [(part, SuffixByteRequest(left)), *wanted] if left else wanted
            if left and size:
                wanted.insert(0, (part, RangeByteRequest(max(size - left, 0), size)))
                left = max(left - size, 0)
        return wanted
    start, end = (byte_range.start, byte_range.end) if isinstance(byte_range, RangeByteRequest) else (byte_range.offset, None)
    for part, size in enumerate(sizes):
        if size is None:
            wanted.append((part, OffsetByteRequest(start) if end is None else RangeByteRequest(start, end)))
            if end is not None:
                return wanted
            start = 0
            continue
        last = size if end is None else min(end, size)
        if start < last:
            wanted.append((part, RangeByteRequest(start, last)))
        start, end = max(start - size, 0), None if end is None else end - size
        if end is not None and end <= 0:
            break
    return wanted


def _join(pieces: Sequence[Bytes]) -> Bytes:
    whole = pieces[0].base if pieces else None
    if isinstance(whole, np.ndarray) and all(piece.base is whole for piece in pieces):
        if sum(map(len, pieces)) == len(whole):
            return whole  # Of `Below.get_all`.
    return pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0, "B"), *pieces])
