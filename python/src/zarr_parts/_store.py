"""A store that shows arrays in parts as plain arrays."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn, Self

import zarr.abc.store
from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from zarr.registry import get_codec_class
from zarr.storage import FsspecStore, LocalStore

from zarr_parts._errors import MetadataError, PartsError
from zarr_parts._json import rewrite_json
from zarr_parts._layout import PLAIN_KEYS, ArrayLayout, parse_layout, split_plain_key
from zarr_parts._read import Get, Steps, StoredChunk, is_temporary

DOCUMENT = "zarr.json"


class PartsStore(Store):
    """Shows a store as if every array in it had `default` chunk keys and no storage transformers.

    zarr-python and all that reads by it, such as xarray and dask, then read arrays whose chunk
    keys have suffixes, and whose chunks are stored in parts. Each `zarr.json` is changed
    accordingly, also in consolidated metadata. All other values are shown as they are stored.

    The store cannot write. While another program changes an array, a read may mix parts of two
    writes; a chunk of which parts are missing is always an error.

    Parameters
    ----------
    store
        Any store of zarr-python, a path, or a URL that fsspec opens.
    read_only
        What `read_only` says. It is false by default, so that `zarr.open_group(store)` opens
        groups without `mode="r"`; writing is an error in either case.

    Examples
    --------
    >>> import zarr
    >>> group = zarr.open_group(PartsStore("data.zarr"))  # doctest: +SKIP
    >>> group["dem"][:100]  # doctest: +SKIP
    """

    supports_writes = False
    supports_deletes = False

    def __init__(self, store: Store | Path | str, *, read_only: bool = False) -> None:
        super().__init__(read_only=read_only)
        if isinstance(store, str) and "://" in store:
            store = FsspecStore.from_url(store, read_only=True)
        elif isinstance(store, str | Path):
            store = LocalStore(Path(store).expanduser(), read_only=True)
        elif not isinstance(store, Store):
            raise TypeError(f"Expected a store of zarr-python, a path or a URL, found {store!r}")
        self.store = store
        # The nodes whose metadata was read, by their paths: where the chunks of an array are
        # stored, or `None` for a node that is shown as it is. Absent nodes are not cached,
        # since they may be created later.
        self._nodes: dict[str, ArrayLayout | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_nodes": {}}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartsStore) and self.store == other.store and self.read_only == other.read_only

    def __str__(self) -> str:
        return f"parts of {self.store}"

    def __repr__(self) -> str:
        return f"PartsStore({self.store!r})"

    def with_read_only(self, read_only: bool = False) -> Self:
        """Return a store over the same store below."""
        return type(self)(self.store, read_only=read_only)

    def close(self) -> None:
        """Close this store and the one below."""
        self.store.close()
        super().close()

    # Reading

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the value of a key of the plain array, or `None`.

        Raises
        ------
        MissingPartError, PartSizeError, UnfinishedWriteError
            If the chunk is damaged. None of them is taken for an absent chunk.
        """
        return await self._drive(self._get(key, byte_range, prototype or default_buffer_prototype()))

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return what `get` does, if the store below can read without an event loop."""
        return self._drive_sync(self._get(key, byte_range, prototype or default_buffer_prototype()))

    @property
    def _supports_sync_io(self) -> bool:
        """Whether the store below can read without an event loop; from zarr 3.4 on."""
        is_sync: Callable[[Store], bool] | None = getattr(zarr.abc.store, "_store_supports_sync_io", None)
        return is_sync is not None and is_sync(self.store)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Return ranges of values."""
        return await asyncio.gather(*(self.get(key, prototype, byte_range) for key, byte_range in key_ranges))

    async def get_ranges(
        self, key: str, byte_ranges: Sequence[ByteRequest | None], *, prototype: BufferPrototype, **limits: Any
    ) -> AsyncIterator[Sequence[tuple[int, Buffer | None]]]:
        """Yield ranges of a value; from zarr 3.4 on. Damage is raised by itself, and not in a group."""
        try:
            async for batch in super().get_ranges(key, byte_ranges, prototype=prototype, **limits):
                yield batch
        except BaseExceptionGroup as group:
            damage = group.subgroup(PartsError)
            if damage is None:
                raise
            raise _first(damage) from None

    async def exists(self, key: str) -> bool:
        """Whether a key of the plain array has a value."""
        return await self._drive(self._size(key)) is not None

    async def getsize(self, key: str) -> int:
        """Return the size of a value in bytes, all parts together."""
        size = await self._drive(self._size(key))
        if size is None:
            raise FileNotFoundError(key)
        return size

    def _get(self, key: str, byte_range: ByteRequest | None, prototype: BufferPrototype) -> Steps[Buffer | None]:
        if not isinstance(byte_range, RangeByteRequest | OffsetByteRequest | SuffixByteRequest | None):
            raise TypeError(f"Unexpected byte_range, got {byte_range}.")
        if is_temporary(key):
            return None
        if key == DOCUMENT or key.endswith("/" + DOCUMENT):
            document = yield from self._document(key)
            return None if document is None else prototype.buffer.from_bytes(_slice(document, byte_range))
        chunk = yield from self._chunk_of(key)
        if chunk is None:
            return None
        return (yield from chunk.read(byte_range, prototype, type(self.store) is LocalStore))

    def _size(self, key: str) -> Steps[int | None]:
        if is_temporary(key):
            return None
        if key == DOCUMENT or key.endswith("/" + DOCUMENT):
            document = yield from self._document(key)
            return None if document is None else len(document)
        chunk = yield from self._chunk_of(key)
        return (yield from chunk.size()) if chunk else None

    def _chunk_of(self, key: str) -> Steps[StoredChunk | None]:
        """Return where a value is stored; `None` for a key outside the grid of its array."""
        split = split_plain_key(key)
        if split is not None:
            root, coordinates = split
            layout = yield from self._layout(root)
            if layout is not None:
                if not layout.is_in_grid(coordinates):
                    return None
                return StoredChunk(_join(root, layout.keys.encode(coordinates)), layout.parts, layout.index_size)
        return StoredChunk(key)

    # Metadata

    def _layout(self, root: str) -> Steps[ArrayLayout | None]:
        """Return where the chunks of an array are stored; `None` for any other node."""
        if root not in self._nodes:
            yield from self._document(_join(root, DOCUMENT))
        return self._nodes.get(root)

    def _document(self, key: str) -> Steps[bytes | None]:
        """Read a `zarr.json`, and return the one that is shown."""
        root = key[: -len(DOCUMENT)].rstrip("/")
        (stored,) = yield [Get(key)]
        if stored is None:
            self._nodes.pop(root, None)
            return None
        data: bytes = stored.to_bytes()
        try:
            return rewrite_json(data, lambda document: self._show(document, root))
        except MetadataError as error:
            raise MetadataError(f"{key}: {error}") from None
        except ValueError:
            return data  # zarr-python says what is wrong with JSON.

    def _show(self, document: object, root: str) -> bool:
        """Change the document of a node in place, cache what it says about chunks, and return whether it was changed."""
        if not isinstance(document, dict) or document.get("zarr_format") != 3:
            return False
        self._nodes[root] = layout = _show_node(document)
        is_changed = layout is not None
        consolidated = document.get("consolidated_metadata")
        nodes = consolidated.get("metadata") if isinstance(consolidated, dict) else None
        if isinstance(nodes, dict):
            try:
                layouts = {_join(root, path): _show_node(node) for path, node in nodes.items()}
            except MetadataError:
                # The other nodes can be read: zarr-python reads the document of each node then.
                del document["consolidated_metadata"]
                return True
            self._nodes |= layouts
            is_changed |= any(layout is not None for layout in layouts.values())
        return is_changed

    # Listing

    @property
    def supports_listing(self) -> bool:
        """Whether the store below can list."""
        return self.store.supports_listing

    async def list(self) -> AsyncIterator[str]:
        """Yield all keys that a plain copy would have."""
        async for key in self._list(self.store.list()):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Yield all keys with a prefix that a plain copy would have."""
        node = await self._array_around(prefix)
        if node is None:
            async for key in self._list(self.store.list_prefix(prefix)):
                yield key
            return
        async for key in self._list(self.store.list_prefix(node + "/" if node else "")):
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield the names in a folder of a plain copy."""
        prefix = prefix.rstrip("/")
        if await self._array_around(prefix) is None:
            async for name in self.store.list_dir(prefix):
                if not is_temporary(name):
                    yield name
            return
        names = dict[str, None]()
        folder = prefix + "/" if prefix else ""
        async for key in self.list_prefix(folder):
            names[key[len(folder) :].split("/")[0]] = None
        for name in names:
            yield name

    async def _list(self, stored: AsyncIterator[str]) -> AsyncIterator[str]:
        """Yield the keys that are shown, by those that are stored."""
        keys = [key async for key in stored if not is_temporary(key)]
        roots = [key[: -len(DOCUMENT)].rstrip("/") for key in keys if key == DOCUMENT or key.endswith("/" + DOCUMENT)]
        layouts = await asyncio.gather(*(self._drive(self._layout(root)) for root in roots))
        arrays = {root: layout for root, layout in zip(roots, layouts, strict=True) if layout is not None}
        shown = set[str]()
        for key in keys:
            root = next((folder for folder in _folders(key) if folder in arrays), None)
            if root is None:
                yield key
                continue
            relative = arrays[root].shown_key(key[len(root) + 1 if root else 0 :])
            if relative is not None and (found := _join(root, relative)) not in shown:
                shown.add(found)
                yield found

    async def _array_around(self, path: str) -> str | None:
        """Return the path of the array that a folder is in or is, if its chunks are shown elsewhere."""
        path = path.rstrip("/")
        for folder in [path, *_folders(path)] if path else [""]:
            layout = await self._drive(self._layout(folder))
            if folder in self._nodes:
                return folder if layout is not None else None
        return None

    # Steps, which are taken with and without an event loop

    async def _drive[T](self, steps: Steps[T]) -> T:
        """Carry out the requests of a read together, step by step."""
        answers: list[Any] | None = None
        while True:
            try:
                requests = steps.send(answers)
            except StopIteration as end:
                result: T = end.value
                return result
            if len(requests) == 1:
                answers = [await requests[0].ask(self.store)]
            else:
                answers = await asyncio.gather(*(request.ask(self.store) for request in requests))

    def _drive_sync[T](self, steps: Steps[T]) -> T:
        """Carry out the requests of a read one after another."""
        answers: list[Any] | None = None
        while True:
            try:
                requests = steps.send(answers)
            except StopIteration as end:
                result: T = end.value
                return result
            answers = [request.ask_sync(self.store) for request in requests]

    # Writing

    def _check_writable(self) -> NoReturn:
        raise ValueError(
            "The store was opened in read-only mode and does not support writing: PartsStore reads alone, since "
            "writing would show readers chunks of which some parts are new. Write by the command `zarr-parts convert`, "
            "or by setSharded of the TypeScript package zarr-parts"
        )

    async def set(self, key: str, value: Buffer) -> None:
        """Raise an error that says what can write."""
        self._check_writable()

    async def delete(self, key: str) -> None:
        """Raise an error that says what can write."""
        self._check_writable()

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Raise an error that says what can write."""
        self._check_writable()

    async def delete_dir(self, prefix: str) -> None:
        """Raise an error that says what can write."""
        self._check_writable()

    async def clear(self) -> None:
        """Raise an error that says what can write."""
        self._check_writable()

    def set_sync(self, key: str, value: Buffer) -> None:
        """Raise an error that says what can write."""
        self._check_writable()

    def delete_sync(self, key: str) -> None:
        """Raise an error that says what can write."""
        self._check_writable()


def _show_node(node: object) -> ArrayLayout | None:
    """Change the document of an array with other keys or in parts, and return where its chunks are stored."""
    if not isinstance(node, dict) or node.get("node_type") != "array":
        return None
    _register_codecs(json.dumps(node.get("codecs")))
    layout = parse_layout(node)
    if layout is not None:
        node["chunk_key_encoding"] = PLAIN_KEYS
        node.pop("storage_transformers", None)
    return layout


def _register_codecs(codecs: str) -> None:
    """Register the codecs of imagecodecs, which has no entry points, if an array needs one."""
    names = [name for name in re.findall('"imagecodecs_([a-z0-9_]+)"', codecs) if not _is_registered(f"imagecodecs_{name}")]
    if names:
        try:
            from imagecodecs.zarr import register_codecs
        except ImportError:
            return  # zarr-python names the codec that is missing.
        register_codecs(names, verbose=False)


def _is_registered(codec: str) -> bool:
    try:
        get_codec_class(codec)
    except KeyError:
        return False
    return True


def _slice(data: bytes, byte_range: ByteRequest | None) -> bytes:
    if isinstance(byte_range, RangeByteRequest):
        return data[byte_range.start : byte_range.end]
    if isinstance(byte_range, OffsetByteRequest):
        return data[byte_range.offset :]
    return data[max(len(data) - byte_range.suffix, 0) :] if byte_range else data


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name


def _folders(key: str) -> list[str]:
    """The folders that a key is in, from the innermost to the root."""
    names = key.split("/")
    return ["/".join(names[:count]) for count in range(len(names) - 1, -1, -1)]


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group
