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

from zarr_parts._below import Below, SyncBelow, finish, is_temporary
from zarr_parts._chunk import StoredChunk
from zarr_parts._errors import MetadataError, PartsError
from zarr_parts._json import rewrite_json
from zarr_parts._layout import PLAIN_KEYS, ArrayLayout, parse_layout, split_plain_key

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
        return await self._get(Below(self.store), key, prototype, byte_range)

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return what `get` does, if the store below can read without an event loop."""
        return finish(self._get(SyncBelow(self.store), key, prototype, byte_range))

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
            damage: BaseException | None = group.subgroup(PartsError)
            while isinstance(damage, BaseExceptionGroup):
                damage = damage.exceptions[0]
            if damage is None:
                raise
            raise damage from None

    async def exists(self, key: str) -> bool:
        """Whether a key of the plain array has a value."""
        return await self._size(key) is not None

    async def getsize(self, key: str) -> int:
        """Return the size of a value in bytes, all parts together."""
        size = await self._size(key)
        if size is None:
            raise FileNotFoundError(key)
        return size

    async def _get(
        self, below: Below, key: str, prototype: BufferPrototype | None, byte_range: ByteRequest | None
    ) -> Buffer | None:
        if not isinstance(byte_range, RangeByteRequest | OffsetByteRequest | SuffixByteRequest | None):
            raise TypeError(f"Unexpected byte_range, got {byte_range}.")
        prototype = prototype or default_buffer_prototype()
        found = await self._find(below, key)
        if isinstance(found, bytes):
            return prototype.buffer.from_bytes(_slice(found, byte_range))
        return None if found is None else await found.read(byte_range, prototype)

    async def _size(self, key: str) -> int | None:
        found = await self._find(Below(self.store), key)
        if isinstance(found, bytes):
            return len(found)
        return None if found is None else await found.size()

    async def _find(self, below: Below, key: str) -> StoredChunk | bytes | None:
        """Return where the value of a key is stored, or a document as it is shown; `None` for a key that is hidden."""
        if is_temporary(key):
            return None
        if _is_document(key):
            return await self._document(below, _folder(key))
        split = split_plain_key(key)
        if split is not None:
            root, coordinates = split
            layout = await self._layout(below, root)
            if layout is not None:
                if not layout.is_in_grid(coordinates):
                    return None
                return StoredChunk(below, _join(root, layout.keys.encode(coordinates)), layout)
        return StoredChunk(below, key)

    # Metadata

    async def _layout(self, below: Below, root: str) -> ArrayLayout | None:
        """Return where the chunks of an array are stored; `None` for any other node."""
        if root not in self._nodes:
            await self._document(below, root)
        return self._nodes.get(root)

    async def _document(self, below: Below, root: str) -> bytes | None:
        """Read the `zarr.json` of a node, and return the one that is shown."""
        stored = await below.get(_join(root, DOCUMENT))
        if stored is None:
            self._nodes.pop(root, None)
            return None
        data = stored.to_bytes()
        try:
            return rewrite_json(data, lambda document: self._show(document, root))
        except MetadataError as error:
            raise MetadataError(f"{_join(root, DOCUMENT)}: {error}") from None
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
        async for key in self.list_prefix(""):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Yield all keys with a prefix that a plain copy would have."""
        root = await self._array_around(prefix.rpartition("/")[0])
        stored = self.store.list_prefix(f"{root}/" if root else prefix if root is None else "")
        keys = [key async for key in stored if not is_temporary(key)]
        below = Below(self.store)
        roots = [_folder(key) for key in keys if _is_document(key)]
        layouts = await below.each(lambda root: self._layout(below, root), roots)
        arrays = {root: layout for root, layout in zip(roots, layouts, strict=True) if layout is not None}
        shown = dict[str, None]()
        for key in keys:
            array = next((folder for folder in _folders(key) if folder in arrays), None)
            if array is None:
                shown[key] = None
            elif (relative := arrays[array].shown_key(key[len(array) + 1 if array else 0 :])) is not None:
                shown[_join(array, relative)] = None
        for key in shown:
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield the names in a folder of a plain copy."""
        prefix = prefix.rstrip("/")
        if await self._array_around(prefix) is None:
            names = [name async for name in self.store.list_dir(prefix) if not is_temporary(name)]
        else:
            folder = prefix + "/" if prefix else ""
            names = list(dict.fromkeys([key[len(folder) :].split("/")[0] async for key in self.list_prefix(folder)]))
        for name in names:
            yield name

    async def _array_around(self, path: str) -> str | None:
        """Return the path of the array that a folder is in or is, if its chunks are shown elsewhere."""
        for folder in [path, *_folders(path)] if path else [""]:
            layout = await self._layout(Below(self.store), folder)
            if folder in self._nodes:
                return folder if layout is not None else None
        return None

    # Writing

    def _check_writable(self, *_: Any, **__: Any) -> NoReturn:
        raise ValueError(
            "The store was opened in read-only mode and does not support writing: PartsStore reads alone, since "
            "writing would show readers chunks of which some parts are new. Write by the command `zarr-parts convert`, "
            "or by setSharded of the TypeScript package zarr-parts"
        )

    async def set(self, *_: Any, **__: Any) -> NoReturn:
        """Raise an error that says what can write."""
        self._check_writable()

    delete = set_if_not_exists = delete_dir = clear = set
    set_sync = delete_sync = _check_writable


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


def _is_document(key: str) -> bool:
    return key.rpartition("/")[2] == DOCUMENT


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name


def _folder(key: str) -> str:
    return key.rpartition("/")[0]


def _folders(key: str) -> list[str]:
    """The folders that a key is in, from the innermost to the root."""
    names = key.split("/")
    return ["/".join(names[:count]) for count in range(len(names) - 1, -1, -1)]
