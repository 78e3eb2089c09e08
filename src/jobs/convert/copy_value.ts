import { isSameBytes } from "../../runtime/mod.ts";
import type { ArrayChunks } from "../../arrays/mod.ts";
import { DamageError, UnfinishedWriteError } from "../../errors/mod.ts";
import { sourceOf } from "../../splitter/mod.ts";
import {
  readSize,
  readStream,
  readValue,
  remove,
  type Store,
  type StoreKey,
  type StoreOptions,
  toStream,
  write,
} from "../../stores/mod.ts";
import { checkedStream, type PassingBytes } from "../chunk_checks.ts";

/** Values of up to this length are read whole, since streams and copies of files take time to set up. */
const SMALL = 1024 * 1024;

/** A chunk or a file in a store. */
export interface StoredValue {
  readonly key: StoreKey;
  /** Whether the store tells the value's length without reading it. */
  readonly hasSize: boolean;
  size(options: StoreOptions): Promise<number | undefined>;
  get(options: StoreOptions): Promise<Uint8Array | undefined>;
  stream(options?: StoreOptions): Promise<
    ReadableStream<Uint8Array> | undefined
  >;
  set(
    value: Uint8Array | ReadableStream<Uint8Array>,
    options: StoreOptions,
  ): Promise<void>;
  delete(options: StoreOptions): Promise<void>;
}

/** A chunk of an array in a store. */
export function chunkIn(
  store: Store,
  chunks: ArrayChunks,
  coordinates: readonly number[],
): StoredValue {
  return {
    key: chunks.key(coordinates),
    hasSize: typeof store.size === "function",
    size: (options) => chunks.size(coordinates, options),
    get: (options) => chunks.get(coordinates, options),
    stream: (options) => chunks.stream(coordinates, options),
    set: (value, options) => chunks.set(coordinates, value, options),
    delete: (options) => chunks.delete(coordinates, options),
  };
}

/** A file in a store. */
export function fileIn(store: Store, key: StoreKey): StoredValue {
  return {
    key,
    hasSize: typeof store.size === "function",
    size: (options) => readSize(store, key, options),
    get: (options) => readValue(store, key, options),
    stream: (options) => readStream(store, key, options),
    set: (value, options) => write(store, key, value, options),
    delete: (options) => remove(store, key, options),
  };
}

/** How a value is copied. */
export interface CopyOptions {
  /**
   * Whether a value of the target is right, and skipped, if it has the same length or the
   * same bytes. By default, every value is copied.
   */
  readonly skip?: "same size" | "same bytes" | undefined;
  /**
   * Has the operating system copy the files of a value of a length, if it can. Returns
   * whether it has.
   *
   * @param isNew Whether the target is known not to have the value.
   */
  copyFiles?(
    size: number,
    isNew: boolean,
    options: StoreOptions,
  ): Promise<boolean>;
  /** Checks the bytes of a value of a length. */
  check?(size: number): PassingBytes;
  /** Changes the bytes of a value, which is read whole. */
  readonly change?: ((bytes: Uint8Array) => Uint8Array) | undefined;
}

/** The outcome for a value, and the number of bytes that were copied. */
export interface Copied {
  readonly outcome: "copied" | "skipped" | "absent";
  readonly bytes: number;
}

/** Copies a value in constant memory, if the stores have streams. */
export async function copyValue(
  from: StoredValue,
  to: StoredValue,
  how: CopyOptions,
  signal: AbortSignal,
): Promise<Copied> {
  const { skip, check, change, copyFiles } = how;
  const options = { signal };
  if (change) return await copyChanged(from, to, change, how, options);
  let bytes = from.hasSize ? undefined : await from.get(options);
  const size = from.hasSize ? await from.size(options) : bytes?.length;
  if (size === undefined) return ABSENT;
  if (skip !== undefined && await isRight(from, to, size, skip, options)) {
    return { outcome: "skipped", bytes: 0 };
  }
  if (bytes === undefined && size <= SMALL) {
    bytes = await from.get(options);
    if (bytes === undefined) return ABSENT;
  }
  if (
    bytes === undefined && await copyFiles?.(size, skip === undefined, options)
  ) {
    return { outcome: "copied", bytes: size };
  }
  if (bytes !== undefined) {
    verifyBytes(bytes, check);
    await to.set(bytes, options);
    return { outcome: "copied", bytes: bytes.length };
  }
  // Without the signal, which the writing ends with, files are read without copies.
  const stream = await from.stream();
  if (stream === undefined) return ABSENT;
  const passing = check?.(size);
  await to.set(passing ? checkedStream(stream, passing) : stream, options);
  return { outcome: "copied", bytes: size };
}

/** Changes a value and stores it, unless the target has it already. */
async function copyChanged(
  from: StoredValue,
  to: StoredValue,
  change: (bytes: Uint8Array) => Uint8Array,
  { skip, check }: CopyOptions,
  options: StoreOptions,
): Promise<Copied> {
  const bytes = await from.get(options);
  if (bytes === undefined) return ABSENT;
  verifyBytes(bytes, check);
  const changed = change(bytes);
  const value = { ...from, stream: () => Promise.resolve(toStream(changed)) };
  if (skip && await isRight(value, to, changed.length, skip, options)) {
    return { outcome: "skipped", bytes: 0 };
  }
  await to.set(changed, options);
  return { outcome: "copied", bytes: changed.length };
}

function verifyBytes(bytes: Uint8Array, check: CopyOptions["check"]): void {
  const passing = check?.(bytes.length);
  passing?.take(bytes);
  passing?.finish();
}

const ABSENT: Copied = { outcome: "absent", bytes: 0 };

/** Whether the target has a value already. Damaged values are not right. */
export async function isRight(
  from: StoredValue,
  to: StoredValue,
  size: number,
  skip: "same size" | "same bytes",
  options: StoreOptions,
): Promise<boolean> {
  try {
    if (await to.size(options) !== size) return false;
    if (skip === "same size") return true;
    const streams = await Promise.all([from.stream(), to.stream()]);
    return await isSameStream(...streams, options);
  } catch (error) {
    // Damage of the source is found again when the value is copied.
    const isDamage = error instanceof DamageError ||
      error instanceof UnfinishedWriteError;
    if (isDamage) return false;
    throw error;
  }
}

/** The bytes that are compared at once, of each stream. */
const WINDOW = 256 * 1024;

/** Whether two streams have the same bytes, and both are present. Cancels them at the first difference. */
export async function isSameStream(
  one: ReadableStream<Uint8Array> | undefined,
  other: ReadableStream<Uint8Array> | undefined,
  { signal }: StoreOptions,
): Promise<boolean> {
  const streams = [one, other].filter((stream) => stream !== undefined);
  const pieces = streams.map((stream) => new Pieces(stream));
  try {
    const [a, b] = pieces;
    if (a === undefined || b === undefined) return false;
    while (true) {
      signal?.throwIfAborted();
      await Promise.all([a.fill(), b.fill()]);
      const length = Math.min(a.bytes.length, b.bytes.length);
      if (length === 0) return a.bytes.length === b.bytes.length;
      const [one, other] = [a, b].map((each) => each.bytes.subarray(0, length));
      if (!isSameBytes(one, other)) return false;
      a.drop(length);
      b.drop(length);
    }
  } finally {
    for (const each of pieces) each.cancel();
  }
}

/** The pieces of a stream, of which bytes are dropped from the start. */
class Pieces {
  /** The bytes that have come and were not dropped; empty at the end of the stream. */
  bytes = new Uint8Array();
  readonly #source;
  readonly #memory = new Uint8Array(WINDOW);

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#source = sourceOf(stream);
  }

  async fill(): Promise<void> {
    while (this.bytes.length === 0) {
      const piece = await this.#source.next(() => this.#memory);
      if (piece === undefined) return;
      this.bytes = piece as Uint8Array<ArrayBuffer>;
    }
  }

  drop(length: number): void {
    this.bytes = this.bytes.subarray(length);
  }

  cancel(): void {
    this.#source.cancel(undefined);
  }
}
