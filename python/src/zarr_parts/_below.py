"""The store below a `PartsStore`, which is asked in an event loop or without one.

What is read of a chunk is decided once, in coroutines that ask a `Below`. Those that ask a
`SyncBelow` never wait, so that `finish` runs them without an event loop, as the sync API of
zarr 3.4 needs.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from zarr.abc.store import ByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.core.buffer.cpu import buffer_prototype as in_memory
from zarr.storage import LocalStore

from zarr_parts._errors import PartsError

TEMPORARY = ".zarr-parts-tmp-"
"""How the names of journals and temporary files start."""

type Bytes = npt.NDArray[Any]


@dataclass(frozen=True)
class Below:
    """A store of zarr-python, asked in an event loop."""

    store: Any

    async def each[T, R](self, function: Callable[[T], Awaitable[R]], arguments: Iterable[T]) -> list[R]:
        """Call a function with each argument, at the same time where there is an event loop."""
        calls = [function(argument) for argument in arguments]
        return [await calls[0]] if len(calls) == 1 else await asyncio.gather(*calls)

    async def get(
        self, key: str, byte_range: ByteRequest | None = None, prototype: BufferPrototype = in_memory
    ) -> Buffer | None:
        """Return a value or a range of it, which is empty behind the end of the value; `None` if there is none."""
        try:
            value: Buffer | None = await self._get(key, byte_range, prototype)
        except Exception:
            # Some stores have an error for a range behind the end of a value, others return no bytes.
            if byte_range is None or isinstance(byte_range, SuffixByteRequest):
                raise
            size = await self.size(key)
            start = byte_range.start if isinstance(byte_range, RangeByteRequest) else byte_range.offset
            if size is None or size > start:
                raise
            return prototype.buffer.from_bytes(b"")
        if value is not None and len(value) > _most(byte_range):
            raise PartsError(f"The store returned {len(value)} bytes of {key!r} for {byte_range}: it ignores ranges")
        return value

    async def _get(self, key: str, byte_range: ByteRequest | None, prototype: BufferPrototype) -> Buffer | None:
        value: Buffer | None = await self.store.get(key, prototype, byte_range)
        return value

    async def get_all(self, keys: Sequence[str]) -> list[Bytes | None]:
        """Return several values, those of a `LocalStore` one behind another in one array, so that nothing is copied to join them."""
        if type(self.store) is LocalStore:
            return await asyncio.to_thread(_read_files, self.store.root, keys)
        buffers = await self.each(self.get, keys)
        return [None if buffer is None else buffer.as_numpy_array() for buffer in buffers]

    async def size(self, key: str) -> int | None:
        """Return the size of a value; `None` if there is none."""
        try:
            size: int = await self.store.getsize(key)
        except (FileNotFoundError, KeyError, NotADirectoryError):
            return None
        return size

    async def is_unfinished(self, chunk_key: str) -> bool:
        """Whether a chunk has a journal, or its folder has temporary files. Asked only about incomplete chunks."""
        folder, _, name = chunk_key.rpartition("/")
        journal = f"{folder}/{TEMPORARY}journal-{name}".lstrip("/")
        try:
            return await self.store.exists(journal) or any([is_temporary(name) async for name in self.store.list_dir(folder)])
        except Exception:  # Many stores cannot list. The chunk is incomplete in any case.
            return False


class SyncBelow(Below):
    """A store of zarr-python with the sync API, asked without an event loop."""

    async def each[T, R](self, function: Callable[[T], Awaitable[R]], arguments: Iterable[T]) -> list[R]:
        return [await function(argument) for argument in arguments]

    async def _get(self, key: str, byte_range: ByteRequest | None, prototype: BufferPrototype) -> Buffer | None:
        value: Buffer | None = self.store.get_sync(key, prototype=prototype, byte_range=byte_range)
        return value

    async def get_all(self, keys: Sequence[str]) -> list[Bytes | None]:
        if type(self.store) is LocalStore:
            return _read_files(self.store.root, keys)
        return await super().get_all(keys)

    async def size(self, key: str) -> int | None:
        if isinstance(self.store, LocalStore):
            path = self.store.root / key
            return path.stat().st_size if path.is_file() else None
        value = await self.get(key)
        return None if value is None else len(value)

    async def is_unfinished(self, chunk_key: str) -> bool:
        if not isinstance(self.store, LocalStore):
            return False
        return any(map(is_temporary, os.listdir((self.store.root / chunk_key).parent)))


def finish[T](coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, such as one that asks a `SyncBelow`."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise RuntimeError("A store with the sync API waited for an event loop")


def is_temporary(key: str) -> bool:
    """Whether a key is that of a journal or temporary file."""
    return TEMPORARY in key and any(name.startswith(TEMPORARY) for name in key.split("/"))


def _most(byte_range: ByteRequest | None) -> float:
    """The greatest number of bytes that a range can have."""
    if isinstance(byte_range, RangeByteRequest):
        return byte_range.end - byte_range.start
    return byte_range.suffix if isinstance(byte_range, SuffixByteRequest) else float("inf")


def _read_files(root: Path, keys: Sequence[str]) -> list[Bytes | None]:
    with ExitStack() as stack:
        files = [_open(stack, root / key) for key in keys]
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
