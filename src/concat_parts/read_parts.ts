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

/** A range of a part of known length. */
type Extent = Extract<ByteRange, { offset: number }>;

/** A value under a key that is no chunk key: one part. */
const ONE_PART: readonly Part[] = [{ keySuffix: "" }];

/** In which values of the store below the chunks are stored. */
export class PartsLayout {
  readonly parts: readonly Part[];
  readonly isChunkKey: (key: StoreKey) => boolean;
  readonly #storingOrder: readonly Part[];

  constructor(
    parts: readonly Part[],
    isChunkKey: (key: StoreKey) => boolean,
  ) {
    this.parts = parts;
    this.isChunkKey = isChunkKey;
    this.#storingOrder = storingOrder(parts);
  }

  /** The parts of a value, in the order in which they make up the value. */
  partsOf(key: StoreKey): readonly Part[] {
    return this.isChunkKey(key) ? this.parts : ONE_PART;
  }

  /** The keys of the parts of values in storing order. The last one is in place only if all are. */
  keysOf(keys: readonly StoreKey[]): StoreKey[] {
    return keys.flatMap((key) =>
      this.isChunkKey(key)
        ? this.#storingOrder.map((part) => keyOf(key, part))
        : key
    );
  }
}

/** Returns the key of a part of a chunk. */
export function keyOf(key: StoreKey, { keySuffix }: Part): StoreKey {
  return `${key}${keySuffix}`;
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
        (values) => task(new ChunkSnapshot(layout, values, options?.signal)),
        { ...options, name: options?.name ?? keys[0]! },
      ),
    ...below.readOf && {
      readOf: (version, key, range, options) =>
        version instanceof ChunkVersion && version.key === key
          ? readVersion(below, version, range, options)
          : Promise.resolve(undefined),
    },
  };
}

/** Whole chunks over a snapshot of their parts. Nothing is returned that was not checked against the sizes. */
export class ChunkSnapshot implements Snapshot {
  readonly #layout: PartsLayout;
  readonly #values: Snapshot;
  readonly #signal: AbortSignal | undefined;
  /** The lengths of parts that are known, by their keys. */
  readonly #known = new Map<StoreKey, number>();

  constructor(
    layout: PartsLayout,
    values: Snapshot,
    signal: AbortSignal | undefined,
  ) {
    this.#layout = layout;
    this.#values = values;
    this.#signal = signal;
  }

  async size(key: StoreKey): Promise<number | undefined> {
    const sizes = await this.#sizes(key);
    return sizes?.reduce((sum, size) => sum + size, 0);
  }

  async read(
    key: StoreKey,
    range?: ByteRange,
    options: ReadOptions = {},
  ): Promise<Uint8Array | undefined> {
    const parts = this.#layout.partsOf(key);
    const stored = new Map<Part, boolean>();
    const read = async (part: Part, range?: ByteRange) => {
      const bytes = range
        ? await this.#readPiece(key, part, range, options)
        : await this.#readPart(key, part, options);
      stored.set(part, bytes !== undefined);
      return bytes;
    };
    const pieces = range === undefined
      ? await allPresent(parts.map((part) => read(part)))
      : await readPieces(
        parts.map(({ size }) => size),
        range,
        (piece) => read(parts[piece.part]!, piece.range),
        async (part) => {
          const size = await this.#sizeOf(key, parts[part]!);
          stored.set(parts[part]!, size !== undefined);
          return size;
        },
      );
    if (pieces === undefined) return await this.#absent(key, stored);
    // An empty range does not tell whether the chunk is there.
    if (pieces.length === 0 && await this.#sizes(key) === undefined) {
      return undefined;
    }
    const bytes = joinPieces(pieces);
    assertSizeLimit(key, options.limit, bytes.length);
    return bytes;
  }

  async stream(
    key: StoreKey,
    range?: ByteRange,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const parts = this.#layout.partsOf(key);
    if (range === undefined) return await this.#join(key, parts);
    const sizes = await this.#sizes(key);
    return sizes && await this.#join(key, parts, piecesOf(sizes, range));
  }

  version(key: StoreKey): StoreVersion | undefined {
    const keys = this.#layout.keysOf([key]);
    const versions = new Map(
      keys.map((key) => [key, this.#values.version(key)]),
    );
    const parts = this.#layout.partsOf(key).map((part) => {
      const partKey = keyOf(key, part);
      const size = part.size ?? this.#known.get(partKey);
      return { key: partKey, size, version: versions.get(partKey) };
    });
    if (parts.every(hasVersion)) {
      return new ChunkVersion(key, parts, keys.at(-1)!);
    }
    for (const { version } of parts) version?.release();
    return undefined;
  }

  /** The lengths of all parts; `undefined` for an absent chunk. */
  async #sizes(key: StoreKey): Promise<number[] | undefined> {
    const parts = this.#layout.partsOf(key);
    const sizes = await Promise.all(
      parts.map((part) => this.#sizeOf(key, part)),
    );
    if (sizes.every((size) => size !== undefined)) return sizes;
    return await this.#absent(
      key,
      new Map(parts.map((part, i) => [part, sizes[i] !== undefined])),
    );
  }

  /** Reads the length of a part, and checks it. */
  async #sizeOf(key: StoreKey, part: Part): Promise<number | undefined> {
    const partKey = keyOf(key, part);
    const known = this.#known.get(partKey);
    if (known !== undefined) return known;
    const size = await this.#values.size(partKey);
    if (size === undefined) return undefined;
    assertPartSize(partKey, part.size, size);
    this.#known.set(partKey, size);
    return size;
  }

  /** Reads a whole part, and checks its length. No more bytes are read than the part may have. */
  async #readPart(
    key: StoreKey,
    part: Part,
    options: ReadOptions,
  ): Promise<Uint8Array | undefined> {
    const { size } = part;
    const partKey = keyOf(key, part);
    if (size === undefined) {
      return await this.#values.read(partKey, undefined, options);
    }
    try {
      const bytes = await this.#values.read(partKey, undefined, {
        limit: size,
      });
      if (bytes === undefined) return undefined;
      assertPartSize(partKey, size, bytes.length);
      this.#known.set(partKey, size);
      return bytes;
    } catch (error) {
      if (!(error instanceof SizeLimitError)) throw error;
      const isLeast = error.size === undefined;
      assertPartSize(partKey, size, error.size ?? size + 1, isLeast);
      throw error;
    }
  }

  /** Reads a range of a part. The length of a part with a size is checked. */
  async #readPiece(
    key: StoreKey,
    part: Part,
    range: ByteRange,
    { allocate }: ReadOptions,
  ): Promise<Uint8Array | undefined> {
    const { size } = part;
    const partKey = keyOf(key, part);
    if (size === undefined) {
      return await this.#values.read(partKey, range, { allocate });
    }
    const { offset, length } = range as Extent;
    if (length === size) return await this.#readPart(key, part, {});
    if (size <= READ_WHOLE) {
      const whole = await this.#readPart(key, part, {});
      // A view of a few bytes would keep the whole part in memory.
      return whole && copyBytes(whole, offset, offset + length);
    }
    const [bytes, found] = await Promise.all([
      this.#values.read(partKey, range, { allocate }),
      this.#sizeOf(key, part),
    ]);
    if (bytes === undefined || found === undefined) return undefined;
    assertPartSize(partKey, length, bytes.length);
    return bytes;
  }

  /**
   * Returns `undefined` for a chunk of which no part is stored.
   *
   * @param stored Whether parts are stored, as far as that is known.
   * @throws {MissingPartError} If some parts are stored, and others are not.
   */
  async #absent(
    key: StoreKey,
    stored: Map<Part, boolean>,
  ): Promise<undefined> {
    const parts = this.#layout.partsOf(key);
    await Promise.all(parts.map(async (part) => {
      if (stored.has(part)) return;
      const size = await this.#values.size(keyOf(key, part));
      stored.set(part, size !== undefined);
    }));
    const keys = (isStored: boolean) =>
      parts.filter((part) => stored.get(part) === isStored)
        .map((part) => keyOf(key, part));
    const present = keys(true);
    if (present.length > 0) {
      throw new MissingPartError(key, keys(false), present);
    }
  }

  /**
   * Opens parts, or pieces of them, as one stream. All are opened at once, so that a missing
   * part is an error here and not in the middle of the stream.
   */
  async #join(
    key: StoreKey,
    parts: readonly Part[],
    pieces: readonly (Partial<Piece> & Pick<Piece, "part">)[] = parts.map((
      _,
      part,
    ) => ({ part })),
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const opening = pieces.map(({ part, range }) =>
      this.#open(key, parts[part]!, range)
    );
    try {
      const sources = await allPresent(opening);
      if (sources === undefined) {
        const opened = await Promise.all(opening);
        const stored = opened.map((source, i) =>
          [parts[pieces[i]!.part]!, source !== undefined] as const
        );
        return await this.#absent(key, new Map(stored));
      }
      const joined = pieces.map(({ part, range }) => ({
        keySuffix: parts[part]!.keySuffix,
        size: range ? lengthOf(range) : parts[part]!.size,
      }));
      const signal = this.#signal;
      return joinedStream(joined, {
        open: (piece) => sourceOf(sources[piece]!),
        cancel(reason) {
          for (const source of sources) cancel(source, reason);
        },
      }, { key, signal });
    } catch (error) {
      // Close the parts that are open, and those that open later.
      for (const stream of opening) {
        stream.then((stream) => stream && cancel(stream, error), () => {});
      }
      throw error;
    }
  }

  async #open(
    key: StoreKey,
    part: Part,
    range: ByteRange | undefined,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    if (part.size !== undefined && part.size <= READ_WHOLE) {
      const bytes = range
        ? await this.#readPiece(key, part, range, {})
        : await this.#readPart(key, part, {});
      return bytes && toStream(bytes);
    }
    return await this.#values.stream(keyOf(key, part), range);
  }
}

function cancel(stream: ReadableStream<Uint8Array>, reason: unknown): void {
  // A stream that is being read is cancelled by its reader.
  stream.cancel(reason).catch(() => {});
}

/** A part of one version of a chunk. */
interface PartVersion {
  readonly key: StoreKey;
  readonly size: number | undefined;
  readonly version: StoreVersion;
}

function hasVersion(
  part: Omit<PartVersion, "version"> & { version: StoreVersion | undefined },
): part is PartVersion {
  return part.version !== undefined;
}

/** The version of a chunk: those of its parts. */
class ChunkVersion implements StoreVersion {
  readonly key: StoreKey;
  readonly parts: readonly PartVersion[];
  /** The part that is stored last, and removed first. */
  readonly last: PartVersion;

  constructor(key: StoreKey, parts: readonly PartVersion[], last: StoreKey) {
    this.key = key;
    this.parts = parts;
    this.last = parts.find(({ key }) => key === last)!;
  }

  get isLasting(): boolean {
    return this.parts.every(({ version }) => version.isLasting);
  }

  get isLocal(): boolean {
    return this.parts.some(({ version }) => version.isLocal);
  }

  get size(): number | undefined {
    return sumOf(this.sizes());
  }

  get tag(): string | undefined {
    const tags = this.parts.map(({ size, version }) =>
      version.tag && `${version.tag}-${size ?? version.size}`
    );
    return tags.includes(undefined) ? undefined : tags.join(".");
  }

  get modified(): number | undefined {
    const times = this.parts.map(({ version }) => version.modified)
      .filter((time) => time !== undefined);
    return times.length > 0 ? Math.max(...times) : undefined;
  }

  /** The lengths of the parts, as far as they are known. */
  sizes(): (number | undefined)[] {
    return this.parts.map(({ size, version }) => size ?? version.size);
  }

  release(): void {
    for (const { version } of this.parts) version.release();
  }
}

function sumOf(sizes: readonly (number | undefined)[]): number | undefined {
  return sizes.reduce<number | undefined>(
    (sum, size) =>
      sum === undefined || size === undefined ? undefined : sum + size,
    0,
  );
}

/** Reads a range of a version of a chunk; returns `undefined` if the chunk has another version by now. */
function readVersion(
  below: Backend,
  version: ChunkVersion,
  range: ByteRange,
  options: (StoreOptions & ReadOptions) | undefined,
): Promise<Uint8Array | undefined> {
  const sizes = version.sizes();
  const pieces = piecesOf(sizes, range);
  // Most ranges lie in one part.
  return pieces.length === 1 && sizes[pieces[0]!.part] !== undefined
    ? readPieceOf(below, version, sizes, pieces[0]!, options)
    : readPiecesOf(below, version, sizes, range, options);
}

async function readPiecesOf(
  below: Backend,
  version: ChunkVersion,
  sizes: (number | undefined)[],
  range: ByteRange,
  options: (StoreOptions & ReadOptions) | undefined,
): Promise<Uint8Array | undefined> {
  const { parts, last } = version;
  const pieces = await readPieces(
    sizes,
    range,
    (piece) => readPieceOf(below, version, sizes, piece, options),
    // The response without a byte has told the length, if the store knows lengths.
    (part) => Promise.resolve(parts[part]!.version.size),
  );
  if (pieces?.length === 0) {
    const nothing = { offset: 0, length: 0 };
    return await below.readOf!(last.version, last.key, nothing, options);
  }
  return pieces && joinPieces(pieces);
}

/** Reads a piece of a version, which has all bytes of the piece if the length of the part is known. */
async function readPieceOf(
  below: Backend,
  { parts }: ChunkVersion,
  sizes: readonly (number | undefined)[],
  { part, range }: Piece,
  options: (StoreOptions & ReadOptions) | undefined,
): Promise<Uint8Array | undefined> {
  const { key, size, version } = parts[part]!;
  const bytes = await below.readOf!(version, key, range, options);
  if (bytes === undefined) return undefined;
  if (version.size !== undefined) assertPartSize(key, size, version.size);
  const isComplete = sizes[part] === undefined ||
    bytes.length === lengthOf(range);
  return isComplete ? bytes : undefined;
}

/** Bytes of one part. */
interface Piece {
  /** The place of the part among all parts. */
  readonly part: number;
  /** Which of the bytes of the part. */
  readonly range: ByteRange;
}

/**
 * Reads the pieces of parts in which a range of the whole lies. Pieces whose places are
 * known are read at once. A part of unknown length shows where it ends by fewer bytes than
 * were asked for; what follows is read then.
 *
 * @param sizes The lengths of the parts; `undefined` for those that are not known.
 * @returns The bytes of all pieces; `undefined` if a part is absent.
 */
async function readPieces(
  sizes: (number | undefined)[],
  range: ByteRange,
  read: (piece: Piece) => Promise<Uint8Array | undefined>,
  sizeOf: (part: number) => Promise<number | undefined>,
): Promise<Uint8Array[] | undefined> {
  const found = new Map<number, Uint8Array>();
  const end = "suffixLength" in range ? 0 : sizes.length - 1;
  while (true) {
    const pieces = piecesOf(sizes, range);
    const missing = pieces.filter(({ part }) => !found.has(part));
    const bytes = await allPresent(missing.map(read));
    if (bytes === undefined) return undefined;
    missing.forEach(({ part }, i) => found.set(part, bytes[i]!));
    const open = pieces.find(({ part }) => sizes[part] === undefined);
    const length = open && found.get(open.part)!.length;
    if (!open || open.part === end || length === lengthOf(open.range)) {
      return pieces.map(({ part }) => found.get(part)!);
    }
    const offset = "offset" in open.range ? open.range.offset : 0;
    const size = length! > 0 || offset === 0
      ? offset + length!
      : await sizeOf(open.part);
    if (size === undefined) return undefined;
    sizes[open.part] = size;
  }
}

/**
 * Returns the pieces of parts in which a range of the whole lies, as far as their places
 * are known: up to the first part of unknown length, or back to the last one if the range
 * counts from the end.
 */
function piecesOf(
  sizes: readonly (number | undefined)[],
  range: ByteRange,
): Piece[] {
  const pieces: Piece[] = [];
  if ("suffixLength" in range) {
    let needed = range.suffixLength;
    for (let part = sizes.length; part-- > 0 && needed > 0;) {
      const size = sizes[part];
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
  for (let part = 0; part < sizes.length && first < end; part++) {
    const size = sizes[part];
    const offset = Math.max(range.offset - first, 0);
    const length = Math.min(end - first, size ?? Infinity) - offset;
    if (length > 0) pieces.push({ part, range: { offset, length } });
    if (size === undefined) break;
    first += size;
  }
  return pieces;
}

function lengthOf(range: ByteRange): number {
  return "suffixLength" in range ? range.suffixLength : range.length;
}

function joinPieces(pieces: readonly Uint8Array[]): Uint8Array {
  return pieces.length === 1 ? pieces[0]! : joinBytes(pieces);
}

/** Resolves to all results, or to `undefined` if one of them is missing. */
async function allPresent<T>(
  results: readonly Promise<T | undefined>[],
): Promise<T[] | undefined> {
  const all = await Promise.all(results);
  return all.every((result) => result !== undefined) ? all : undefined;
}
