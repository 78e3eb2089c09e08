import {
  assertPartSize,
  assertSizeLimit,
  MissingPartError,
  SizeLimitError,
} from "../errors/mod.ts";
import { copyBytes, joinBytes } from "../runtime/mod.ts";
import {
  joinedStream,
  type Part,
  sourceOf,
  storingOrder,
} from "../splitter/mod.ts";
import {
  type Backend,
  type ByteRange,
  type ReadOptions,
  type Snapshot,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
  toStream,
} from "../stores/mod.ts";

/**
 * The greatest size of a part that is read whole even if only a range of it is needed, so
 * that its length is checked without a second request. A request takes about as long as
 * reading this number of bytes.
 */
const READ_WHOLE = 256 * 1024;

/** A part of a certain chunk, under its key in the store below. */
interface StoredPart extends Part {
  readonly key: StoreKey;
}

/** A value under a key that is no chunk key: one part. */
const ONE_PART: readonly Part[] = [{ keySuffix: "" }];

/** In which values of the store below the chunks are stored. */
export class PartsLayout {
  readonly parts: readonly Part[];
  readonly isChunkKey: (key: StoreKey) => boolean;
  readonly #storingOrder: readonly Part[];

  constructor(
    parts: readonly Part[],
    isChunkKey: (key: StoreKey) => boolean = () => true,
  ) {
    this.parts = parts;
    this.isChunkKey = isChunkKey;
    this.#storingOrder = storingOrder(parts);
  }

  /** The parts of a value, in the order in which they make up the value. */
  partsOf(key: StoreKey): StoredPart[] {
    const parts = this.isChunkKey(key) ? this.parts : ONE_PART;
    return parts.map(({ keySuffix, size }) => ({
      key: `${key}${keySuffix}`,
      keySuffix,
      size,
    }));
  }

  /** The keys of the parts of values in storing order. The last one is in place only if all are. */
  keysOf(keys: readonly StoreKey[]): StoreKey[] {
    return keys.flatMap((key) =>
      this.isChunkKey(key)
        ? this.#storingOrder.map(({ keySuffix }): StoreKey =>
          `${key}${keySuffix}`
        )
        : key
    );
  }
}

/** Reads whole chunks from their parts. */
export function partsReader(
  below: Backend,
  layout: PartsLayout,
): Pick<Backend, "read" | "readOf"> {
  return {
    read: (keys, task, options) =>
      below.read(
        layout.keysOf(keys),
        (values) => task(chunkSnapshot(layout, values, options?.signal)),
        { ...options, name: options?.name ?? keys[0]! },
      ),
    ...below.readOf && {
      readOf: (version, key, range, options) =>
        version instanceof ChunkVersion && version.key === key
          ? version.read(below, range, options)
          : Promise.resolve(undefined),
    },
  };
}

/** Returns whole chunks over a snapshot of their parts. */
export function chunkSnapshot(
  layout: PartsLayout,
  values: Snapshot,
  signal: AbortSignal | undefined,
): Snapshot {
  const chunks = new Map<StoreKey, StoredChunk>();
  const chunkAt = (key: StoreKey) => {
    let chunk = chunks.get(key);
    if (chunk === undefined) {
      chunk = new StoredChunk(key, layout.partsOf(key), values, signal);
      chunks.set(key, chunk);
    }
    return chunk;
  };
  return {
    size: (key) => chunkAt(key).size(),
    read: (key, range, options) => chunkAt(key).read(range, options),
    stream: (key, range) => chunkAt(key).stream(range),
    version: (key) => chunkAt(key).version(layout.keysOf([key]).at(-1)!),
  };
}

/** A chunk in a snapshot of its parts. Nothing is returned that was not checked against the sizes. */
class StoredChunk {
  readonly #key: StoreKey;
  readonly #parts: readonly StoredPart[];
  readonly #values: Snapshot;
  readonly #signal: AbortSignal | undefined;
  /** The lengths of the parts that have been checked or told by the store. */
  readonly #lengths: (number | undefined)[] = [];
  /** Whether the parts are stored, as far as that is known. */
  readonly #isStored: (boolean | undefined)[] = [];

  constructor(
    key: StoreKey,
    parts: readonly StoredPart[],
    values: Snapshot,
    signal: AbortSignal | undefined,
  ) {
    this.#key = key;
    this.#parts = parts;
    this.#values = values;
    this.#signal = signal;
  }

  async size(): Promise<number | undefined> {
    const lengths = await this.#allLengths();
    return lengths?.reduce((sum, length) => sum + length, 0);
  }

  async read(
    range?: ByteRange,
    options: ReadOptions = {},
  ): Promise<Uint8Array | undefined> {
    const pieces = await readPieces(
      this.#parts.map(({ size }) => size),
      range,
      (piece) => this.#readPiece(piece, options),
      (part) => this.#lengthOf(part),
    );
    if (pieces === undefined) return await this.#absent();
    // An empty range does not tell whether the chunk is there.
    if (pieces.length === 0 && await this.#allLengths() === undefined) {
      return undefined;
    }
    const bytes = joinPieces(pieces);
    assertSizeLimit(this.#key, options.limit, bytes.length);
    return bytes;
  }

  /**
   * Opens the chunk, or a range of it, as a stream. All parts are opened at once, so that a
   * missing part is an error here and not in the middle of the stream.
   */
  async stream(
    range?: ByteRange,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const lengths = range ? await this.#allLengths() : this.#parts.map(() => 0);
    if (lengths === undefined) return undefined;
    const pieces = piecesOf(lengths, range);
    const opening = pieces.map((piece) => this.#open(piece));
    try {
      const streams = await Promise.all(opening);
      if (!streams.every((stream) => stream !== undefined)) {
        return await this.#absent();
      }
      const joined = pieces.map(({ part, range }) => {
        const { keySuffix, size } = this.#parts[part]!;
        return { keySuffix, size: range ? lengthOf(range) : size };
      });
      return joinedStream(joined, {
        open: (piece) => sourceOf(streams[piece]!),
        cancel(reason) {
          for (const stream of streams) cancel(stream, reason);
        },
      }, { key: this.#key, signal: this.#signal });
    } catch (error) {
      // Close the parts that are open, and those that open later.
      for (const stream of opening) {
        stream.then((stream) => stream && cancel(stream, error), () => {});
      }
      throw error;
    }
  }

  /** @param last The key of the part that is stored last. */
  version(last: StoreKey): StoreVersion | undefined {
    const parts: PartVersion[] = [];
    for (const [i, { key, size }] of this.#parts.entries()) {
      const version = this.#values.version(key);
      if (version === undefined) {
        for (const { version } of parts) version.release();
        return undefined;
      }
      const known = size ?? this.#lengths[i] ?? version.size;
      parts.push({ key, size: known, version });
    }
    return new ChunkVersion(this.#key, parts, last);
  }

  /** The lengths of all parts; `undefined` for an absent chunk. */
  async #allLengths(): Promise<number[] | undefined> {
    const lengths = await Promise.all(
      this.#parts.map((_, part) => this.#lengthOf(part)),
    );
    return lengths.every((length) => length !== undefined)
      ? lengths
      : await this.#absent();
  }

  /** Asks for the length of a part, and checks it. */
  async #lengthOf(part: number): Promise<number | undefined> {
    const { key, size } = this.#parts[part]!;
    const known = this.#lengths[part];
    if (known !== undefined) return known;
    const length = await this.#values.size(key);
    this.#isStored[part] = length !== undefined;
    if (length !== undefined) assertPartSize(key, size, length);
    return this.#lengths[part] = length;
  }

  /** Reads a piece of a part. The length of a part with a size is checked. */
  async #readPiece(
    { part, range }: Piece,
    options: ReadOptions,
  ): Promise<Uint8Array | undefined> {
    const { key, size } = this.#parts[part]!;
    const { allocate } = options;
    let bytes: Uint8Array | undefined;
    if (size === undefined) {
      bytes = await this.#values.read(
        key,
        range,
        range ? { allocate } : options,
      );
    } else {
      // Only in parts of unknown length, ranges count from the end.
      const { offset, length } = range as Extent | undefined ??
        { offset: 0, length: size };
      if (length === size || size <= READ_WHOLE) {
        bytes = await readWhole(this.#values, key, size);
        if (bytes !== undefined) this.#lengths[part] = size;
        // A view of a few bytes would keep the whole part in memory.
        if (length < size) bytes &&= copyBytes(bytes, offset, offset + length);
      } else {
        const [read, whole] = await Promise.all([
          this.#values.read(key, range, { allocate }),
          this.#lengthOf(part),
        ]);
        if (read && whole) bytes = read;
        if (bytes) assertPartSize(key, length, bytes.length);
      }
    }
    this.#isStored[part] = bytes !== undefined;
    return bytes;
  }

  async #open(piece: Piece): Promise<ReadableStream<Uint8Array> | undefined> {
    const { key, size } = this.#parts[piece.part]!;
    if (size !== undefined && size <= READ_WHOLE) {
      const bytes = await this.#readPiece(piece, {});
      return bytes && toStream(bytes);
    }
    const stream = await this.#values.stream(key, piece.range);
    this.#isStored[piece.part] = stream !== undefined;
    return stream;
  }

  /**
   * Returns `undefined` for a chunk of which no part is stored.
   *
   * @throws {MissingPartError} If some parts are stored, and others are not.
   */
  async #absent(): Promise<undefined> {
    const isStored = await Promise.all(
      this.#parts.map(async ({ key }, part) =>
        this.#isStored[part] ?? await this.#values.size(key) !== undefined
      ),
    );
    const keys = this.#parts.map(({ key }) => key);
    const present = keys.filter((_, part) => isStored[part]);
    if (present.length === 0) return undefined;
    const missing = keys.filter((_, part) => !isStored[part]);
    throw new MissingPartError(this.#key, missing, present);
  }
}

function cancel(stream: ReadableStream<Uint8Array>, reason: unknown): void {
  // A stream that is being read is cancelled by its reader.
  stream.cancel(reason).catch(() => {});
}

/** Reads a part with a size. No more bytes are read than it may have. */
async function readWhole(
  values: Snapshot,
  key: StoreKey,
  size: number,
): Promise<Uint8Array | undefined> {
  try {
    const bytes = await values.read(key, undefined, { limit: size });
    if (bytes !== undefined) assertPartSize(key, size, bytes.length);
    return bytes;
  } catch (error) {
    if (!(error instanceof SizeLimitError)) throw error;
    const isLeast = error.size === undefined;
    assertPartSize(key, size, error.size ?? size + 1, isLeast);
    throw error;
  }
}

/** A part of one version of a chunk. */
interface PartVersion {
  readonly key: StoreKey;
  /** The length of the part in bytes, if it is known. */
  readonly size: number | undefined;
  readonly version: StoreVersion;
}

/** The version of a chunk: those of its parts. */
class ChunkVersion implements StoreVersion {
  readonly key: StoreKey;
  readonly #parts: readonly PartVersion[];
  /** The key of the part that is stored last, and removed first. */
  readonly #last: StoreKey;

  constructor(key: StoreKey, parts: readonly PartVersion[], last: StoreKey) {
    this.key = key;
    this.#parts = parts;
    this.#last = last;
  }

  get isLasting(): boolean {
    return this.#parts.every(({ version }) => version.isLasting);
  }

  get ownChangesOnly(): boolean {
    return this.#parts.some(({ version }) => version.ownChangesOnly);
  }

  get size(): number | undefined {
    return sizeTogether(this.#parts);
  }

  get tag(): string | undefined {
    const tags = this.#parts.map(({ size, version: { tag } }) =>
      tag && `${tag}-${size}`
    );
    return tags.includes(undefined) ? undefined : tags.join(".");
  }

  get modified(): number | undefined {
    const times = this.#parts.map(({ version }) => version.modified)
      .filter((time) => time !== undefined);
    return times.length > 0 ? Math.max(...times) : undefined;
  }

  release(): void {
    for (const { version } of this.#parts) version.release();
  }

  /** Reads a range; resolves to `undefined` if the chunk has another version by now. */
  async read(
    below: Backend,
    range: ByteRange,
    options: (StoreOptions & ReadOptions) | undefined,
  ): Promise<Uint8Array | undefined> {
    const parts = this.#parts;
    const lengths = parts.map(({ size }) => size);
    if (piecesOf(lengths, range).length === 0) {
      const { key, version } = parts.find(({ key }) => key === this.#last)!;
      return await below.readOf!(
        version,
        key,
        { offset: 0, length: 0 },
        options,
      );
    }
    const read = async ({ part, range }: Piece) => {
      const { key, size, version } = parts[part]!;
      const bytes = await below.readOf!(version, key, range!, options);
      if (bytes && version.size !== undefined) {
        assertPartSize(key, size, version.size);
      }
      // If the length of a part is known, it must have all of the bytes.
      const isComplete = size === undefined ||
        bytes?.length === lengthOf(range!);
      return isComplete ? bytes : undefined;
    };
    // The response without a byte has told the length, if the store knows lengths.
    const sizeOf = (part: number) => Promise.resolve(parts[part]!.version.size);
    const pieces = await readPieces(lengths, range, read, sizeOf);
    return pieces && joinPieces(pieces);
  }
}

/** Returns the size of parts together; `undefined` if one of them has no size. */
export function sizeTogether(
  parts: readonly { readonly size?: number | undefined }[],
): number | undefined {
  return parts.reduce<number | undefined>(
    (sum, { size }) =>
      size === undefined || sum === undefined ? undefined : sum + size,
    0,
  );
}

type Extent = Extract<ByteRange, { offset: number }>;

/** Bytes of one part. */
interface Piece {
  /** The place of the part among all parts. */
  readonly part: number;
  /** Which of the bytes of the part. All if not given. */
  readonly range?: ByteRange;
}

/**
 * Returns the pieces of parts in which a range of the whole lies, as far as their places
 * are known: up to the first part of unknown length, or back to the last one if the range
 * counts from the end.
 *
 * @param lengths The lengths of the parts; `undefined` for those that are not known.
 */
function piecesOf(
  lengths: readonly (number | undefined)[],
  range: ByteRange | undefined,
): Piece[] {
  if (range === undefined) return lengths.map((_, part) => ({ part }));
  const pieces: Piece[] = [];
  if ("suffixLength" in range) {
    let needed = range.suffixLength;
    for (let part = lengths.length; part-- > 0 && needed > 0;) {
      const size = lengths[part];
      if (size === undefined) {
        pieces.unshift({ part, range: { suffixLength: needed } });
        break;
      }
      const length = Math.min(needed, size);
      const offset = size - length;
      if (length > 0) pieces.unshift({ part, range: { offset, length } });
      needed -= length;
    }
    return pieces;
  }
  const end = range.offset +
    Math.min(range.length, Number.MAX_SAFE_INTEGER - range.offset);
  let first = 0;
  for (let part = 0; part < lengths.length && first < end; part++) {
    const size = lengths[part];
    const offset = Math.max(range.offset - first, 0);
    const length = Math.min(end - first, size ?? Infinity) - offset;
    if (length > 0) pieces.push({ part, range: { offset, length } });
    if (size === undefined) break;
    first += size;
  }
  return pieces;
}

/**
 * Reads the pieces of parts in which a range of the whole lies. Pieces whose places are
 * known are read at once. A part of unknown length shows where it ends by fewer bytes than
 * were asked for; what follows is read then.
 *
 * @param lengths The lengths of the parts; `undefined` for those that are not known.
 * @param sizeOf Asks for the length of a part, if no byte of it tells where it ends.
 * @returns The bytes of all pieces; `undefined` if a part is absent.
 */
async function readPieces(
  lengths: readonly (number | undefined)[],
  range: ByteRange | undefined,
  read: (piece: Piece) => Promise<Uint8Array | undefined>,
  sizeOf: (part: number) => Promise<number | undefined>,
): Promise<Uint8Array[] | undefined> {
  const known = [...lengths];
  const found: Uint8Array[] = []; // By part.
  const last = range && "suffixLength" in range ? 0 : lengths.length - 1;
  while (true) {
    const pieces = piecesOf(known, range);
    const missing = pieces.filter(({ part }) => found[part] === undefined);
    const results = missing.length === 1
      ? [await read(missing[0]!)] // Most ranges lie in one part.
      : await Promise.all(missing.map(read));
    for (let i = 0; i < missing.length; i++) {
      const bytes = results[i];
      if (bytes === undefined) return undefined;
      found[missing[i]!.part] = bytes;
    }
    const open = pieces.find(({ part }) => known[part] === undefined);
    if (open?.range && open.part !== last) {
      const { length } = found[open.part]!;
      if (length < lengthOf(open.range)) {
        const offset = "offset" in open.range ? open.range.offset : 0;
        const isTold = length > 0 || offset === 0;
        known[open.part] = isTold ? offset + length : await sizeOf(open.part);
        if (known[open.part] === undefined) return undefined;
        continue;
      }
    }
    return pieces.map(({ part }) => found[part]!);
  }
}

/** The number of bytes that a range asks for. */
function lengthOf(range: ByteRange): number {
  return "suffixLength" in range ? range.suffixLength : range.length;
}

function joinPieces(pieces: readonly Uint8Array[]): Uint8Array {
  return pieces.length === 1 ? pieces[0]! : joinBytes(pieces);
}
