import { PendingWriteError, UnfinishedWriteError } from "../../errors/mod.ts";
import { encodeBase64, pause } from "../../runtime/mod.ts";
import type { PendingValues, Snapshot } from "../backend.ts";
import { assertComplete } from "../byte_streams.ts";
import { readSnapshot } from "../http/http_snapshot.ts";
import type { ByteWriter, StoreKey, StoreOptions } from "../store.ts";
import type { Bucket } from "./bucket.ts";
import type { Journal } from "./s3_journal.ts";
import type { KeptUpload } from "./journal_record.ts";
import {
  ABSENT,
  comesFrom,
  conditionOf,
  ConflictError,
  type ExtraHeaders,
  metadataOf,
  type ObjectTag,
  putObject,
  TagNotes,
  tagOf,
} from "./objects.ts";
import { completeUpload, settleUpload, Upload } from "./uploads.ts";

/** The number of pieces up to which bytes in memory are stored in one request. */
const IN_ONE_REQUEST = 8;
/** The most bytes of all objects of a chunk but the first one, since a journal holds them. */
const MOST_IN_JOURNAL = 2 ** 24;

/** What the objects are, and how they are stored. */
interface Target {
  readonly bucket: Bucket;
  /** The objects in storing order. */
  readonly keys: readonly StoreKey[];
  /** The key of the chunk. */
  readonly name: StoreKey;
  /** The journal of several objects. */
  readonly journal: Journal | undefined;
  /** The first object as it was when it was read, which alone may be replaced; any if `undefined`. */
  readonly base?: ObjectTag | undefined;
  /** Whether no other program changes the objects. */
  readonly exclusive?: boolean | undefined;
  readonly options: StoreOptions;
}

/**
 * Objects that are sent to a bucket, where `commit` puts them in place.
 *
 * Of several objects, the first one is an upload of any length, and the last of its steps
 * to be undone is its completion. The uploads of the others may fail later, so that the
 * journal keeps their bytes until they are in place.
 */
export class PendingObjects implements PendingValues {
  readonly #target: Target;
  readonly #write = crypto.randomUUID();
  readonly #given = new Map<StoreKey, Upload>();
  readonly #begun = new Set<Upload>();

  constructor(target: Target) {
    this.#target = target;
  }

  async set(key: StoreKey, bytes: Uint8Array): Promise<void> {
    const { bucket, journal } = this.#target;
    const isShort = bytes.length <= IN_ONE_REQUEST * bucket.pieceSize;
    const upload = this.#begin(key, journal === undefined && isShort);
    await upload.write(bytes);
    await this.#accept(key, upload);
  }

  // deno-lint-ignore require-await -- so that an abort is a rejection
  async writer(key: StoreKey): Promise<ByteWriter> {
    const upload = this.#begin(key);
    return {
      async write(bytes) {
        await upload.write(bytes);
        return bytes.length;
      },
      close: () => this.#accept(key, upload),
      abort: () => this.#giveUp(upload),
    };
  }

  async commit(check?: (values: Snapshot) => Promise<void>): Promise<void> {
    const { keys, journal, options } = this.#target;
    options.signal?.throwIfAborted();
    assertComplete(keys, (key) => this.#given.has(key));
    const uploads = keys.map((key) => this.#given.get(key)!);
    try {
      if (journal) await this.#commitSeveral(uploads, journal, check);
      else await this.#commitOne(uploads[0]!, check);
      this.#begun.clear();
    } catch (error) {
      // The journal names the uploads, so that other programs complete them.
      if (error instanceof PendingWriteError) this.#begun.clear();
      throw error;
    }
  }

  async abort(): Promise<void> {
    await Promise.all(
      Array.from(this.#begun, (upload) => this.#giveUp(upload)),
    );
  }

  async #commitOne(
    upload: Upload,
    check?: (values: Snapshot) => Promise<void>,
  ): Promise<void> {
    const { bucket, keys, base, options } = this.#target;
    const [key] = keys as [StoreKey];
    await repeatOnConflict(check ? options : undefined, async () => {
      const { tags, observe } = new TagNotes();
      if (check) {
        const alone = { ...options, ...ALONE, observe };
        await readSnapshot(bucket.objects, keys, check, alone);
      }
      const condition = conditionOf(base ?? tags.get(key));
      await this.#storeOne(upload, key, condition);
    });
  }

  /** Stores an object: in one request if no piece of it has been sent. */
  async #storeOne(
    upload: Upload,
    key: StoreKey,
    condition: ExtraHeaders,
  ): Promise<void> {
    const { bucket: { objects }, base, options } = this.#target;
    const { bytes } = upload;
    let state = ABSENT;
    const isStored = async () => {
      state = await tagOf(objects, key, options);
      return comesFrom(state, this.#write);
    };
    let failure: Error;
    try {
      if (bytes !== undefined) {
        const metadata = metadataOf(this.#write, false, base);
        const headers = { ...metadata, ...condition };
        await putObject(objects, key, bytes, headers, options);
        return;
      }
      const prepared = await upload.prepare();
      const spoilt = await completeUpload(
        objects,
        prepared,
        condition,
        options,
      );
      await settleUpload(objects, prepared, spoilt, isStored);
      if (comesFrom(state, this.#write)) return;
      failure = spoilt ?? new UnfinishedWriteError(key);
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      failure = error;
    }
    // The request was repeated if the response to a successful one was lost.
    if (!await isStored()) throw failure;
  }

  async #commitSeveral(
    uploads: readonly Upload[],
    journal: Journal,
    check?: (values: Snapshot) => Promise<void>,
  ): Promise<void> {
    const { bucket, keys, name, exclusive, options } = this.#target;
    const [firstKey] = keys as [StoreKey];
    const isWhole = this.#target.base === undefined;
    const base = this.#target.base?.tag ?? (check ? null : "*");
    let before: ObjectTag | undefined;
    const [first, others] = await Promise.all([
      uploads[0]!.prepare(),
      this.#keepOthers(uploads.slice(1)),
      base === "*" && !exclusive &&
      tagOf(bucket.objects, firstKey, options).then((tag) => before = tag),
    ]);
    const record = { generation: this.#write, key: name, base, first, others };
    const outcome = await journal.run(
      record,
      isWhole,
      options,
      check && (async () => {
        before = await this.#check(check);
      }),
    );
    // A later write may have changed what this one has stored.
    if (outcome.isDone || comesFrom(outcome.first!, this.#write)) return;
    if (!isWhole) throw new ConflictError(name);
    // Another write has replaced this one.
    if (before && !comesFrom(outcome.first!, before.tag)) return;
    throw outcome.cause ?? new UnfinishedWriteError(name);
  }

  /** Checks the present objects. Returns the tag of the first one. */
  async #check(
    check: (values: Snapshot) => Promise<void>,
  ): Promise<ObjectTag> {
    const { bucket, keys, name, options } = this.#target;
    const [first] = keys as [StoreKey];
    const { tags, observe } = new TagNotes();
    const run = async (values: Snapshot) => {
      // A chunk without its first object has no bytes that a check could keep.
      if (await values.size(first) !== undefined) await check(values);
    };
    const alone = { ...options, ...ALONE, name, observe };
    await readSnapshot(bucket.objects, keys, run, alone);
    return tags.get(first)!;
  }

  /** Keeps the bytes of objects, and sends them to uploads. */
  async #keepOthers(uploads: readonly Upload[]): Promise<KeptUpload[]> {
    const kept = uploads.map(async (upload): Promise<KeptUpload> => {
      const base64 = encodeBase64(upload.bytes!);
      return { ...await upload.prepare(), source: { base64 } };
    });
    // All uploads have ended before one is given up.
    await Promise.allSettled(kept);
    return await Promise.all(kept);
  }

  /** @param isWhole Whether the object is stored in one request, whatever its length. */
  #begin(key: StoreKey, isWhole = false): Upload {
    const { bucket, keys, journal, base, options } = this.#target;
    options.signal?.throwIfAborted();
    const isLater = key !== keys[0];
    const metadata = metadataOf(this.#write, journal !== undefined, base);
    const pieceSize = isLater || isWhole ? Infinity : bucket.pieceSize;
    const { objects } = bucket;
    const longest = isLater ? MOST_IN_JOURNAL : Infinity;
    const upload = new Upload(
      { objects, pieceSize, longest },
      key,
      metadata,
      options,
    );
    this.#begun.add(upload);
    return upload;
  }

  /** Takes a complete object, in place of an earlier one for the same key. */
  async #accept(key: StoreKey, upload: Upload): Promise<void> {
    const earlier = this.#given.get(key);
    this.#given.set(key, upload);
    if (earlier && earlier !== upload) await this.#giveUp(earlier);
  }

  async #giveUp(upload: Upload): Promise<void> {
    this.#begun.delete(upload);
    await upload.abort();
  }
}

/** The rules of a snapshot while no other program changes the objects. */
const ALONE = { isBeingWritten: () => Promise.resolve(false) };

/** The most runs of a change, which is repeated if another program has changed the objects. */
const MOST_RUNS = 30;
/** The time before the second run in milliseconds; doubles with each run up to `LONGEST_PAUSE`. */
const FIRST_PAUSE = 10;
const LONGEST_PAUSE = 1000;

/**
 * Runs a change, and runs it again if another program has changed the objects, since
 * buckets have no locks.
 *
 * @param options None if the change is not to be repeated.
 * @throws {ConflictError} If others have changed the objects in each run.
 */
export async function repeatOnConflict(
  options: StoreOptions | undefined,
  run: () => Promise<void>,
): Promise<void> {
  for (let runs = 1;; runs++) {
    options?.signal?.throwIfAborted();
    try {
      return await run();
    } catch (error) {
      const isRepeated = error instanceof ConflictError && options &&
        runs < MOST_RUNS;
      if (!isRepeated) throw error;
    }
    const longest = Math.min(FIRST_PAUSE * 2 ** (runs - 1), LONGEST_PAUSE);
    await pause(longest * Math.random(), options.signal);
  }
}
