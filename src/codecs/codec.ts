import {
  below,
  DamageError,
  describe,
  MetadataError,
  sentence,
} from "../errors/mod.ts";
import {
  checkMembers,
  isWhole,
  parseExtension,
  withNumbers,
} from "../metadata/mod.ts";

/**
 * The metadata of chunks that zarrita passes to a codec. The interface has only the
 * members that this package uses, so that it fits every version of zarrita.
 */
export interface ChunkMetadata {
  readonly dataType: string;
  readonly shape: readonly number[];
  /**
   * Whether decoded bytes may be a part of a larger buffer, which the next call of a codec may
   * use again. By default, they have a buffer of their own, which zarrita keeps.
   */
  readonly reusesMemory?: boolean;
  /** Whether data that ends too early is refused also where other programs fill it up. */
  readonly isStrict?: boolean;
  /** All codecs of the array, in the order in which they encode. */
  readonly codecs?: readonly {
    readonly name: string;
    readonly configuration?: unknown;
  }[];
}

/** A codec as a registry holds it. */
export interface CodecEntry {
  fromConfig(configuration: unknown, metadata: ChunkMetadata): unknown;
}

/** A codec from bytes to bytes. */
export interface BytesCodec {
  encode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
  decode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/** The elements of a chunk: a typed array, or zarrita's own `BoolArray`. */
interface ElementArray {
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly BYTES_PER_ELEMENT: number;
}

/** A chunk as zarrita passes it. Strides are in elements. */
export interface Chunk {
  readonly data: ElementArray;
  readonly shape: readonly number[];
  readonly stride: readonly number[];
}

/** The decoder of a codec from array to bytes. */
interface ChunkDecoder {
  decode(bytes: Uint8Array): Chunk | Promise<Chunk>;
}

/** The class of zarrita's codec `bytes`, as the registry holds it. */
export interface BytesEntry {
  fromConfig(
    configuration: { endian: "little" },
    metadata: ChunkMetadata,
  ): ChunkDecoder;
}

/** A filter: functions that encode and decode the elements of a chunk. */
export interface Filter {
  /** The data type of encoded elements. */
  readonly stored: string;
  /** The shape of an encoded chunk, if it is another one. */
  readonly shape?: readonly number[];
  /** @param bytes Elements of the array, which must not be changed. */
  encode(bytes: Uint8Array): Uint8Array;
  /** @param bytes As many encoded elements as there are. */
  decode(bytes: Uint8Array): Uint8Array;
}

/** Parses the configuration of a filter for chunks of an array. */
export type ParseFilter = (
  name: string,
  configuration: unknown,
  metadata: ChunkMetadata,
) => Filter;

/** The configuration of a codec, whose members are checked when they are read. The paths of errors start at the codec. */
export class Configuration<N extends string> {
  /** The name of the codec. */
  readonly name: string;
  readonly #members: Partial<Record<N, unknown>>;

  /**
   * @param members The members that the configuration, which may be missing, may have.
   * @throws {MetadataError} If it has others.
   */
  constructor(name: string, members: readonly N[], metadata: unknown) {
    this.name = name;
    // Some documents are parsed with the text of their numbers.
    const { configuration } = parseExtension(
      { name, configuration: withNumbers(metadata) },
      "codec",
    );
    const what = `the configuration of ${name}`;
    this.#members = below(
      "/configuration",
      () => checkMembers(configuration, what, [], members),
    );
  }

  /** The value of a member; `undefined` also for `null`, by which Python programs leave members out. */
  get(member: N): unknown {
    return this.#members[member] ?? undefined;
  }

  /** A whole number. */
  whole(
    member: N,
    least: number,
    most: number = Infinity,
    standard?: number,
  ): number {
    const value = this.get(member) ?? standard;
    if (isWhole(value, least) && value <= most) return value;
    const from = least === -Infinity ? "" : ` from ${least}`;
    const to = most === Infinity ? "" : ` to ${most}`;
    throw this.refusal(member, `a whole number${from}${to}`);
  }

  /** One of some texts, which is not `null`. */
  oneOf<const T extends string>(
    member: N,
    values: readonly T[],
    standard: T,
  ): T {
    const { [member]: value = standard } = this.#members;
    if (values.includes(value as T)) return value as T;
    const names = values.map(describe);
    const last = names.pop();
    throw this.refusal(member, `${names.join(", ")} or ${last}`);
  }

  /**
   * The error for a member.
   *
   * @param expected What the member has to be.
   */
  refusal(member: N, expected: string): MetadataError {
    return new MetadataError(
      `Expected ${member} of ${this.name} to be ${expected}, found ${
        describe(this.#members[member])
      }`,
      `/configuration/${member}`,
    );
  }
}

/** The rows of a chunk, which are its elements at each place of its first dimension that is longer than 1. */
export interface ChunkRows {
  readonly count: number;
  /** The number of rows, from the first one on, that are in the array. */
  readonly inArray: number;
}

/** The codecs after which rows of elements do not lie one after another. */
const REORDERING_CODECS = ["transpose", "numcodecs.shuffle"];

/**
 * The rows of a chunk that extends past the end of the array; `undefined` for a chunk
 * that does not.
 *
 * @param first The place of the chunk's first element in the array.
 * @param codecs The names of the codecs of the chunk.
 */
export function chunkRows(
  chunkShape: readonly number[],
  arrayShape: readonly number[],
  first: readonly number[],
  codecs: readonly string[],
): ChunkRows | undefined {
  const axis = chunkShape.findIndex((length) => length > 1);
  if (axis < 0) return undefined;
  const count = chunkShape[axis]!;
  const inArray = arrayShape[axis]! - first[axis]!;
  const isShort = inArray > 0 && inArray < count &&
    !codecs.some((name) => REORDERING_CODECS.includes(name));
  return isShort ? { count, inArray } : undefined;
}

/** The key under which bytes were read, and the rows of a chunk at the edge of its array. */
interface Note {
  readonly key: string;
  readonly rows: ChunkRows | undefined;
  readonly name: (() => string) | undefined;
}

const notes = new WeakMap<Uint8Array, Note>();

/**
 * Notes the key that bytes were read from, for messages of codecs. zarrita passes no key to a
 * codec, but the same object that the store returned.
 *
 * @param rows The rows of a chunk at the end of an array, which may be stored without
 * the rows that are outside of the array.
 * @param name Names the chunk at the start of a sentence. By default, its key does.
 */
export function noteKey(
  bytes: Uint8Array,
  key: string,
  rows?: ChunkRows,
  name?: () => string,
): void {
  notes.set(bytes, { key, rows, name });
}

/** The key noted for bytes, or an empty string. */
export function keyOf(bytes: Uint8Array): string {
  return notes.get(bytes)?.key ?? "";
}

/** The rows noted for bytes, or `undefined`. */
export function rowsOf(bytes: Uint8Array): ChunkRows | undefined {
  return notes.get(bytes)?.rows;
}

/** Gives decoded bytes the notes of the encoded ones, for the next codecs. */
export function passNotes(encoded: Uint8Array, decoded: Uint8Array): void {
  const note = notes.get(encoded);
  if (note !== undefined) notes.set(decoded, note);
}

/** The least number of decoded bytes that hold all elements of a chunk in the array. */
export function neededLength(encoded: Uint8Array, exact: number): number {
  const rows = rowsOf(encoded);
  return rows === undefined ? exact : exact / rows.count * rows.inArray;
}

/** `chunk at "/c/0"` for messages about encoded bytes, or `chunk` if their key is unknown. */
export function chunkAt(bytes: Uint8Array): string {
  const key = keyOf(bytes);
  return key === "" ? "chunk" : sentence`chunk at ${key}`;
}

/** Creates the error for damaged bytes. `message` is the predicate of a sentence about the chunk. */
export function damaged(
  encoded: Uint8Array,
  message: string,
  cause?: unknown,
): DamageError {
  const name = notes.get(encoded)?.name?.() ?? `The ${chunkAt(encoded)}`;
  return new DamageError(`${name} ${message}`, {
    key: keyOf(encoded),
    ...(cause === undefined ? {} : { cause }),
  });
}
