import {
  DamageError,
  describe,
  UnfinishedWriteError,
} from "../../errors/mod.ts";
import { isSameBytes } from "../../runtime/mod.ts";
import { sourceOf } from "../../splitter/mod.ts";
import { type StoreOptions, toStream } from "../../stores/mod.ts";
import {
  checkedStream,
  ChunkCheck,
  type ChunkChecks,
} from "../chunk_checks.ts";
import type { StoredValue, WorkItem } from "./convert_work.ts";
import { copyBySystem } from "./system_copies.ts";

/** The outcome for a value, and the number of bytes that were copied. */
export interface Copied {
  readonly outcome: "copied" | "skipped" | "absent";
  readonly bytes: number;
}

/** The comparison by which a value of the target is found to be right, and is skipped. */
type Skip = "same size" | "same bytes";

/**
 * Copies a value, in constant memory if the stores have streams.
 *
 * @param skip By default, every value is copied.
 * @throws {DamageError} If the value is damaged.
 * @throws {Error} If the value was listed and is absent now.
 */
export async function copyValue(
  item: WorkItem,
  skip: Skip | undefined,
  options: Required<StoreOptions>,
): Promise<Copied> {
  const { from, to, isListed } = item;
  const copied = item.change
    ? await copyChanged(item, item.change, skip, options)
    : await copyUnchanged(item, skip, options);
  if (copied !== undefined) return copied;
  if (isListed) {
    throw new Error(
      `${
        describe(from.key)
      } was listed and is absent now: the source is being changed; run the conversion again when nobody writes`,
    );
  }
  // The source may have had the chunk when an earlier run copied it.
  if (skip && await to.size(options) !== undefined) await to.delete(options);
  return { outcome: "absent", bytes: 0 };
}

/** Values of up to this length are read whole, since streams and copies of files take time to set up. */
const SMALL = 1024 * 1024;

/** Returns `undefined` if the value is absent. */
async function copyUnchanged(
  { from, to, checks }: WorkItem,
  skip: Skip | undefined,
  options: StoreOptions,
): Promise<Copied | undefined> {
  const hasSize = typeof from.store.size === "function";
  let bytes = hasSize ? undefined : await from.get(options);
  const size = hasSize ? await from.size(options) : bytes?.length;
  if (size === undefined) return undefined;
  if (skip !== undefined && await isRight(from, to, size, skip, options)) {
    return SKIPPED;
  }
  if (bytes === undefined && size <= SMALL) {
    bytes = await from.get(options);
    if (bytes === undefined) return undefined;
  }
  if (bytes !== undefined) {
    verifyBytes(bytes, from.key, checks);
    await to.set(bytes, options);
    return { outcome: "copied", bytes: bytes.length };
  }
  const chunk = { size, isNew: skip === undefined, checks };
  if (!await copyBySystem(from, to, chunk, options)) {
    // Without the signal, files are read without copies. The signal ends the writing.
    const stream = await from.stream();
    if (stream === undefined) return undefined;
    const value = checks
      ? checkedStream(stream, checks, { key: from.key, size })
      : stream;
    await to.set(value, options);
  }
  return { outcome: "copied", bytes: size };
}

/** Changes a value and stores it, unless the target has it already. Returns `undefined` if the value is absent. */
async function copyChanged(
  { from, to, checks }: WorkItem,
  change: (bytes: Uint8Array) => Uint8Array,
  skip: Skip | undefined,
  options: StoreOptions,
): Promise<Copied | undefined> {
  const bytes = await from.get(options);
  if (bytes === undefined) return undefined;
  verifyBytes(bytes, from.key, checks);
  const changed = change(bytes);
  const value = { ...from, stream: () => Promise.resolve(toStream(changed)) };
  if (skip && await isRight(value, to, changed.length, skip, options)) {
    return SKIPPED;
  }
  await to.set(changed, options);
  return { outcome: "copied", bytes: changed.length };
}

function verifyBytes(
  bytes: Uint8Array,
  key: string,
  checks: ChunkChecks | undefined,
): void {
  if (checks === undefined) return;
  const check = new ChunkCheck(checks, key, bytes.length);
  check.take(bytes);
  check.finish();
}

const SKIPPED: Copied = { outcome: "skipped", bytes: 0 };

/** Whether the target has a value already. Damaged values are not right. */
export async function isRight(
  from: StoredValue,
  to: StoredValue,
  size: number,
  skip: Skip,
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
      if (!isSameBytes(a.take(length), b.take(length))) return false;
    }
  } finally {
    for (const each of pieces) each.cancel();
  }
}

/** The bytes that are compared at once, of each stream. */
const WINDOW = 256 * 1024;

/** The pieces of a stream, taken in other lengths than those in which they come. */
class Pieces {
  /** The bytes that have come and were not taken; empty at the end of the stream. */
  bytes = new Uint8Array();
  readonly #source;
  readonly #memory = new Uint8Array(WINDOW);

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#source = sourceOf(stream);
  }

  /** Waits for bytes, unless some were not taken. */
  async fill(): Promise<void> {
    while (this.bytes.length === 0) {
      const piece = await this.#source.next(() => this.#memory);
      if (piece === undefined) return;
      this.bytes = piece as Uint8Array<ArrayBuffer>;
    }
  }

  take(length: number): Uint8Array {
    const taken = this.bytes.subarray(0, length);
    this.bytes = this.bytes.subarray(length);
    return taken;
  }

  cancel(): void {
    this.#source.cancel(undefined);
  }
}
