"""How a chunk is read from its parts, as steps that are taken with and without an event loop.

A step is a generator. It yields requests that may be carried out at the same time, and gets
their answers.
"""

import asyncio
import os
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from zarr.storage import LocalStore

from zarr_parts._errors import MissingPartError, PartSizeError, UnfinishedWriteError
from zarr_parts._layout import Part

READ_WHOLE = 256 * 1024
"""The greatest size of a part that is read whole where a range is needed, which checks its length without a request."""

FILE_RECORD_SIZE = 32
"""The size of the record of an adopted file, which is before the index in the index part."""

TEMPORARY = ".zarr-parts-tmp-"
"""How the names of journals and temporary files start."""


class Request(Protocol):
    """A request to the store below."""

    async def ask(self, store: Store) -> Any:
        """Carry out the request in an event loop."""

    def ask_sync(self, store: Any) -> Any:
        """Carry out the request without an event loop."""


type Steps[T] = Generator[Sequence[Request], Any, T]
type Bytes = npt.NDArray[Any]
type Wanted = tuple[int, ByteRequest]
"""A part and the range of it to read."""


class Get(NamedTuple):
    """Asks for a value or a range of it; `None` if there is none."""

    key: str
    byte_range: ByteRequest | None = None
    prototype: BufferPrototype = default_buffer_prototype()

    async def ask(self, store: Store) -> Buffer | None:
        try:
            return await store.get(self.key, self.prototype, self.byte_range)
        except Exception:
            # Some stores have an error for a range behind the end of a value, others return no bytes.
            if isinstance(self.byte_range, RangeByteRequest):
                start = self.byte_range.start
            elif isinstance(self.byte_range, OffsetByteRequest):
                start = self.byte_range.offset
            else:
                raise
            size = await Size(self.key).ask(store)
            if size is None or size > start:
                raise
            return self.prototype.buffer.from_bytes(b"")

    def ask_sync(self, store: Any) -> Any:
        return store.get_sync(self.key, prototype=self.prototype, byte_range=self.byte_range)


class GetFiles(NamedTuple):
    """Asks a `LocalStore` for several values, which it reads one behind another into one array, so that nothing is copied."""

    keys: Sequence[str]

    async def ask(self, store: Store) -> "list[Bytes | None]":
        return await asyncio.to_thread(self.ask_sync, store)

    def ask_sync(self, store: Any) -> "list[Bytes | None]":
        with ExitStack() as stack:
            files = [_open(stack, store.root / key) for key in self.keys]
            sizes = [0 if file is None else os.fstat(file.fileno()).st_size for file in files]
            joined = np.empty(sum(sizes), "B")
            values: list[Bytes | None] = []
            end = 0
            for file, size in zip(files, sizes, strict=True):
                start, end = end, end + size
                at = start
                while file is not None and at < end and (count := file.readinto(joined[at:end].data)):
                    at += count
                values.append(None if file is None else joined[start:at])
            return values


def _open(stack: ExitStack, path: Path) -> FileIO | None:
    try:
        return stack.enter_context(FileIO(path))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None


class Size(NamedTuple):
    """Asks for the size of a value; `None` if there is none."""

    key: str

    async def ask(self, store: Store) -> int | None:
        try:
            return await store.getsize(self.key)
        except (FileNotFoundError, KeyError, NotADirectoryError):
            return None

    def ask_sync(self, store: Any) -> int | None:
        if isinstance(store, LocalStore):
            path = store.root / self.key
            return path.stat().st_size if path.is_file() else None
        value = store.get_sync(self.key)
        return None if value is None else len(value)


class IsUnfinished(NamedTuple):
    """Asks whether a chunk has a journal, or its folder has temporary files. Asked only about incomplete chunks."""

    chunk_key: str

    async def ask(self, store: Store) -> bool:
        folder, _, name = self.chunk_key.rpartition("/")
        journal = f"{folder}/{TEMPORARY}journal-{name}".lstrip("/")
        try:
            if await store.exists(journal):
                return True
            return any([is_temporary(name) async for name in store.list_dir(folder)])
        except Exception:  # Many stores cannot list. The chunk is incomplete in any case.
            return False

    def ask_sync(self, store: Any) -> bool:
        if not isinstance(store, LocalStore):
            return False
        return any(path.name.startswith(TEMPORARY) for path in (store.root / self.chunk_key).parent.iterdir())


def is_temporary(key: str) -> bool:
    """Whether a key is that of a journal or temporary file."""
    return TEMPORARY in key and any(name.startswith(TEMPORARY) for name in key.split("/"))


@dataclass(frozen=True)
class StoredChunk:
    """A value that is stored in parts. Any other value is one part under its own key."""

    key: str
    parts: Sequence[Part] = (Part(""),)
    index_size: int = 0

    def read(
        self, byte_range: ByteRequest | None, prototype: BufferPrototype, is_local: bool
    ) -> Steps[Buffer | None]:
        """Read the chunk or a range of it; `None` for a chunk of which no part is stored.

        Parameters
        ----------
        byte_range
            The range, or `None` for all of the chunk.
        prototype
            What to return.
        is_local
            Whether the store below is a `LocalStore`.
        """
        if len(self.parts) == 1 and self.parts[0].size is None:
            (value,) = yield [Get(self._key(0), byte_range, prototype)]
            return value  # type: ignore[no-any-return]
        if byte_range is None:
            pieces = yield from self._read_whole(is_local)
        elif isinstance(byte_range, SuffixByteRequest):
            pieces = yield from self._read_suffix(byte_range.suffix)
        elif isinstance(byte_range, OffsetByteRequest):
            pieces = yield from self._read_range(byte_range.offset, None)
        else:
            pieces = yield from self._read_range(byte_range.start, byte_range.end)
        return None if pieces is None else prototype.buffer.from_bytes(_join(pieces).data)

    def size(self) -> Steps[int | None]:
        """Return the length of all parts together; `None` for a chunk of which no part is stored."""
        sizes = yield [Size(self._key(part)) for part in range(len(self.parts))]
        if None in sizes:
            yield from self._absent(dict(enumerate(size is not None for size in sizes)))
            return None
        for part, size in enumerate(sizes):
            self._check_size(part, size)
        return sum(sizes)

    def _read_whole(self, is_local: bool) -> Steps[list[Bytes] | None]:
        if is_local:
            (values,) = yield [GetFiles([self._key(part) for part in range(len(self.parts))])]
        else:
            buffers = yield [Get(self._key(part)) for part in range(len(self.parts))]
            values = [None if buffer is None else buffer.as_numpy_array() for buffer in buffers]
        if any(value is None for value in values):
            yield from self._absent({part: value is not None for part, value in enumerate(values)})
            return None
        for part, value in enumerate(values):
            self._check_size(part, len(value))
        pieces: list[Bytes] = values
        if self.index_size and any(part.size is None for part in self.parts):
            # An unsized part that was cut short would be read on into the index.
            lengths = [len(piece) for piece in pieces]
            index = _join(pieces[-1:] if lengths[-1] >= self.index_size else pieces)[-self.index_size :]
            self._check_index(index, lengths)
        return pieces

    def _read_suffix(self, length: int) -> Steps[list[Bytes] | None]:
        """Read the last bytes of the chunk, part by part from the last one."""
        pieces: list[Bytes] = []
        part = len(self.parts) - 1
        while length > 0 and part >= 0:
            wanted: list[Wanted] = []
            while length > 0 and part >= 0:
                size = self.parts[part].size
                if size is None:
                    wanted.append((part, SuffixByteRequest(length)))
                else:
                    wanted.append((part, RangeByteRequest(max(size - length, 0), size)))
                    length -= size
                part -= 1
                if size is None:
                    break
            found = yield from self._fetch(wanted)
            if found is None:
                return None
            if size is None:
                length -= len(found[-1])
            pieces = found[::-1] + pieces
        return pieces

    def _read_range(self, start: int, end: int | None) -> Steps[list[Bytes] | None]:
        """Read a range of the chunk, part by part from the first one. A range may end behind the chunk."""
        pieces: list[Bytes] = []
        lengths: list[int] = []
        while len(lengths) < len(self.parts) and (end is None or sum(lengths) < end):
            wanted: list[Wanted] = []
            while len(lengths) < len(self.parts) and (end is None or sum(lengths) < end):
                at, part = sum(lengths), len(lengths)
                size = self.parts[part].size
                first = max(start - at, 0)
                if size is None:
                    wanted.append((part, OffsetByteRequest(first) if end is None else RangeByteRequest(first, end - at)))
                    break
                last = size if end is None else min(end - at, size)
                if first < last:
                    wanted.append((part, RangeByteRequest(first, last)))
                lengths.append(size)
            found = yield from self._fetch(wanted)
            if found is None:
                return None
            pieces += found
            if size is None:
                if end is not None and len(found[-1]) == end - at - first:
                    break
                # The range goes on behind the unsized part.
                length = first + len(found[-1])
                if len(found[-1]) == 0 and first > 0:
                    (length,) = yield [Size(self._key(part))]
                lengths.append(length)
                rest = [part.size for part in self.parts[len(lengths) :]]
                if self.index_size and None not in rest:
                    index = yield from self._read_suffix(self.index_size)
                    if index is not None:
                        self._check_index(_join(index), lengths + rest)  # type: ignore[operator]
        unsized = [part for part, described in enumerate(self.parts) if described.size is None]
        if unsized and end is not None and start < end and not any(map(len, pieces)):
            # zarr-python would take no bytes for an absent inner chunk.
            part = unsized[-1]
            raise PartSizeError(self._key(part), lengths[part] + end - sum(lengths), lengths[part], at_least=True)
        return pieces

    def _fetch(self, wanted: "Sequence[Wanted]") -> Steps[list[Bytes] | None]:
        """Read ranges of parts, and check the length of each part with a size."""
        requests: list[Request] = []
        for part, byte_range in wanted:
            size = self.parts[part].size
            if size is None:
                requests.append(Get(self._key(part), byte_range))
            elif size <= READ_WHOLE or byte_range == RangeByteRequest(0, size):
                requests.append(Get(self._key(part)))
            else:
                requests += [Get(self._key(part), byte_range), Size(self._key(part))]
        answers = iter((yield requests) if requests else [])
        pieces: list[Bytes] = []
        stored: dict[int, bool] = {}
        for part, byte_range in wanted:
            size = self.parts[part].size
            buffer: Buffer | None = next(answers)
            piece = None if buffer is None else buffer.as_numpy_array()
            if size is not None:
                is_whole = size <= READ_WHOLE or byte_range == RangeByteRequest(0, size)
                length = (None if piece is None else len(piece)) if is_whole else next(answers)
                if length is not None:
                    self._check_size(part, length)
                if is_whole and piece is not None and isinstance(byte_range, RangeByteRequest):
                    piece = piece[byte_range.start : byte_range.end]
            stored[part] = piece is not None
            if piece is not None:
                pieces.append(piece)
        if all(stored.values()):
            return pieces
        yield from self._absent(stored)
        return None

    def _check_size(self, part: int, length: int) -> None:
        size = self.parts[part].size
        if size is not None and size != length:
            raise PartSizeError(self._key(part), size, length)

    def _check_index(self, index: Bytes, lengths: Sequence[int]) -> None:
        """Refuse a shard whose index has inner chunks where the index is, since an unsized part was cut short."""
        entries = np.frombuffer(index[: len(index) // 16 * 16].tobytes(), "<u8").reshape(-1, 2)
        ends = entries[entries[:, 0] != 2**64 - 1].sum(axis=1)
        behind = self.index_size
        if self.parts[-1].size == behind + FILE_RECORD_SIZE:
            behind += FILE_RECORD_SIZE
        beyond = int(ends.max(initial=0)) - (sum(lengths) - behind)
        if beyond > 0:
            part = next(i for i, part in enumerate(self.parts) if part.size is None)
            raise PartSizeError(self._key(part), lengths[part] + beyond, lengths[part], at_least=True)

    def _absent(self, stored: dict[int, bool]) -> Steps[None]:
        """Return `None` for a chunk of which no part is stored, and raise an error if some are."""
        unknown = [part for part in range(len(self.parts)) if part not in stored]
        if unknown:
            sizes = yield [Size(self._key(part)) for part in unknown]
            stored = stored | {part: size is not None for part, size in zip(unknown, sizes, strict=True)}
        if not any(stored.values()):
            return
        (is_unfinished,) = yield [IsUnfinished(self.key)]
        if is_unfinished:
            raise UnfinishedWriteError(self.key)
        keys = [(stored[part], self._key(part)) for part in range(len(self.parts))]
        raise MissingPartError(
            self.key, [key for is_stored, key in keys if not is_stored], [key for is_stored, key in keys if is_stored]
        )

    def _key(self, part: int) -> str:
        return self.key + self.parts[part].suffix


def _join(pieces: Sequence[Bytes]) -> Bytes:
    whole = pieces[0].base if pieces else None
    if isinstance(whole, np.ndarray) and all(piece.base is whole for piece in pieces):
        if sum(map(len, pieces)) == len(whole):
            return whole  # Of `GetFiles`.
    return pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0, "B"), *pieces])
