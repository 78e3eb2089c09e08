import { PendingWriteError } from "../../errors/mod.ts";
import { copyBytes, pause } from "../../runtime/mod.ts";
import type { Snapshot } from "../backend.ts";
import { assertAllGiven, assertInGroup } from "../capabilities.ts";
import { readSnapshot } from "../http/http_snapshot.ts";
import { groupValues } from "../legacy_groups.ts";
import type { KeyLocks } from "../locks.ts";
import type {
  ByteWriter,
  GroupValues,
  GroupWriter,
  StoreGroup,
  StoreKey,
  StoreOptions,
} from "../store.ts";
import { splitPath, temporaryPath } from "../store_key.ts";
import type { Bucket } from "./bucket.ts";
import {
  comesFrom,
  conditionOf,
  type Conditions,
  ConflictError,
  deleteObject,
  metadataOf,
  type ObjectTag,
  tagOf,
} from "./objects.ts";
import { Journal, type Outcome } from "./s3_journal.ts";
import {
  findJournal,
  isBusy,
  journalKey,
  type JournalRecord,
  keepUpload,
  type KeptUpload,
  type Source,
  toBase64,
  unknownJournalError,
} from "./s3_journal_record.ts";
import { abortUpload, type PreparedUpload, Upload } from "./uploads.ts";

/** The most runs of a locked task, which is repeated if another program has changed the chunk. */
const MOST_RUNS = 20;
/** The time before the second run in milliseconds; doubles with each run up to `LONGEST_PAUSE`. */
const FIRST_PAUSE = 10;
const LONGEST_PAUSE = 1000;

/** The bucket, the locks and the probe that all groups of a store share. */
export interface SharedByGroups {
  readonly bucket: Bucket;
  readonly locks: KeyLocks;
  /** Finds out once which conditions the bucket heeds. */
  conditions(options: StoreOptions): Promise<Conditions>;
}

/** The objects of a chunk in a bucket, which are replaced together. */
export class S3Group implements StoreGroup {
  readonly #shared: SharedByGroups;
  readonly #key: StoreKey;
  readonly #keys: readonly StoreKey[];
  /** The first object as it was when the lock was taken; `undefined` without a lock. */
  readonly #base: ObjectTag | undefined;

  constructor(
    shared: SharedByGroups,
    key: StoreKey,
    keys: readonly StoreKey[],
    base?: ObjectTag,
  ) {
    this.#shared = shared;
    this.#key = key;
    this.#keys = keys;
    this.#base = base;
  }

  async read<T>(
    task: (values: GroupValues) => Promise<T>,
    options: StoreOptions = {},
  ): Promise<T> {
    const { objects } = this.#shared.bucket;
    const keys = this.#keys;
    const read = (values: Snapshot) => task(groupValues(keys, values));
    const named = { ...options, name: this.#key };
    return await readSnapshot(objects, keys, read, named, {
      isBeingWritten: async () => {
        if (this.#keys.length === 1) return false;
        const journal = await journalKey(this.#key);
        const found = await findJournal(objects, journal, options);
        if (found && !found.record) throw unknownJournalError(journal);
        return isBusy(found);
      },
    });
  }

  async write(options: StoreOptions = {}): Promise<GroupWriter> {
    options.signal?.throwIfAborted();
    const journal = this.#needsJournal
      ? await this.#openJournal(options)
      : undefined;
    return new S3GroupWriter(
      this.#shared.bucket,
      this.#key,
      this.#keys,
      this.#base,
      journal,
      options,
    );
  }

  async delete(options: StoreOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    if (this.#needsJournal) return await this.#deleteSeveral(options);
    const { objects } = this.#shared.bucket;
    const key = this.#keys[0]!;
    if (this.#base === undefined || this.#base.etag !== undefined) {
      const condition = conditionOf(this.#base);
      return await deleteObject(objects, key, condition, options);
    }
    // DELETE requests know no condition for an object that was absent.
    const { etag } = await tagOf(objects, key, options);
    if (etag !== undefined) throw new ConflictError(key);
  }

  /** Deletes several objects together, by a journal. */
  async #deleteSeveral(options: StoreOptions): Promise<void> {
    const { objects } = this.#shared.bucket;
    const journal = await this.#openJournal(options, "delete");
    const isLocked = this.#base !== undefined;
    await this.#finishOthers(options).catch((error) => {
      // Without a lock, the deletion takes the place of a write that cannot be finished.
      if (isLocked) throw error;
    });
    options.signal?.throwIfAborted();
    const lastFirst = [this.#keys.at(-1)!, ...this.#keys.slice(0, -1)];
    const removed = await Promise.all(
      lastFirst.map(async (key) => {
        const { tag, etag } = await tagOf(objects, key, options);
        return { key, tag, etag };
      }),
    );
    if (removed.every(({ etag }) => etag === undefined)) return;
    const first = removed.find(({ key }) => key === this.#keys[0])!;
    if (isLocked && first.tag !== this.#base!.tag) {
      throw new ConflictError(this.#key);
    }
    let mayBeCommitted = false;
    try {
      const found = await journal.commit(
        { generation: crypto.randomUUID(), key: this.#key, removed },
        !isLocked,
        options,
        (isStored) => mayBeCommitted = isStored,
      );
      const { isDone } = await journal.carryOut(found, true);
      // Without a lock, the write of the other program comes after this deletion.
      if (isDone || !isLocked) return;
    } catch (error) {
      if (!mayBeCommitted) throw error;
      throw new PendingWriteError(this.#key, { cause: error });
    }
    throw new ConflictError(this.#key);
  }

  /** Runs a task, and runs it again if another program has changed the chunk, since buckets have no locks. */
  async lock<T>(
    task: (group: StoreGroup) => Promise<T>,
    options: StoreOptions = {},
  ): Promise<T> {
    const { bucket, locks } = this.#shared;
    return await locks.write(this.#key, async () => {
      for (let runs = 1;; runs++) {
        options.signal?.throwIfAborted();
        await this.#finishOthers(options);
        const base = await tagOf(bucket.objects, this.#keys[0]!, options);
        try {
          return await task(
            new S3Group(this.#shared, this.#key, this.#keys, base),
          );
        } catch (error) {
          if (!(error instanceof ConflictError) || runs === MOST_RUNS) {
            throw error;
          }
        }
        const longest = Math.min(
          FIRST_PAUSE * 2 ** (runs - 1),
          LONGEST_PAUSE,
        );
        await pause(longest * (0.5 + Math.random() / 2), options.signal);
      }
    }, options);
  }

  get #needsJournal(): boolean {
    return this.#keys.length > 1;
  }

  /** Finishes the write or the deletion that another program has begun. */
  async #finishOthers(options: StoreOptions): Promise<void> {
    if (!this.#needsJournal) return;
    const { objects } = this.#shared.bucket;
    const journal = await journalKey(this.#key);
    const found = await findJournal(objects, journal, options);
    if (isBusy(found)) await (await this.#openJournal(options)).carryOut(found);
  }

  /** Opens the journal, if the service heeds the conditions that it needs. */
  async #openJournal(
    options: StoreOptions,
    needed: keyof Conditions = "put",
  ): Promise<Journal> {
    const conditions = await this.#shared.conditions(options);
    if (!conditions.put || !conditions[needed]) {
      throw new TypeError(
        `Cannot change chunk ${
          JSON.stringify(this.#key)
        } of several objects in ${this.#shared.bucket.url}: ${
          conditions.put
            ? "the service ignores If-Match in DELETE requests"
            : "the service ignores If-None-Match or If-Match in PUT requests"
        }, so that readers could get the objects of two writes`,
      );
    }
    const { bucket } = this.#shared;
    return new Journal(bucket, await journalKey(this.#key), conditions);
  }
}

/** The most bytes that a journal keeps of the objects of a chunk. Longer objects are kept under temporary keys. */
const MOST_IN_JOURNAL = 2 ** 19;

/**
 * Sends the objects of a chunk to a bucket, where `close` puts them in place.
 *
 * Of several objects, the first one is an upload under its own key, whose completion is
 * the commit. The uploads of the others may fail later, so that the bytes of these are
 * kept until they are in place.
 */
class S3GroupWriter implements GroupWriter {
  readonly #bucket: Bucket;
  readonly #key: StoreKey;
  readonly #keys: readonly StoreKey[];
  readonly #base: ObjectTag | undefined;
  readonly #journal: Journal | undefined;
  readonly #options: StoreOptions;
  readonly #write = crypto.randomUUID();
  readonly #given = new Map<StoreKey, Upload>();
  readonly #begun = new Set<Upload>();
  /** The uploads and temporary objects that are removed if the write fails before its commit. */
  readonly #kept: { upload?: PreparedUpload; from?: StoreKey }[] = [];
  /** The first object as it was before the write; `undefined` if it is not known. */
  readonly #before: Promise<ObjectTag | undefined>;
  #mayBeCommitted = false;

  /**
   * @param base The first object, which must be the same when it is replaced; any if
   * `undefined`.
   */
  constructor(
    bucket: Bucket,
    key: StoreKey,
    keys: readonly StoreKey[],
    base: ObjectTag | undefined,
    journal: Journal | undefined,
    options: StoreOptions,
  ) {
    this.#bucket = bucket;
    this.#key = key;
    this.#keys = keys;
    this.#base = base;
    this.#journal = journal;
    this.#options = options;
    this.#before = journal === undefined || base !== undefined
      ? Promise.resolve(base)
      : tagOf(bucket.objects, keys[0]!, options).catch(() => undefined);
  }

  async set(key: StoreKey, bytes: Uint8Array): Promise<void> {
    const upload = this.#begin(key);
    await upload.write(copyBytes(bytes));
    await this.#accept(key, upload);
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async writer(key: StoreKey): Promise<ByteWriter> {
    const upload = this.#begin(key);
    return {
      write: async (bytes) => {
        await upload.write(copyBytes(bytes));
        return bytes.length;
      },
      close: () => this.#accept(key, upload),
      abort: () => this.#giveUp(upload),
    };
  }

  async close(): Promise<void> {
    assertAllGiven(this.#keys, this.#given);
    const options = this.#options;
    options.signal?.throwIfAborted();
    const inOrder = this.#keys.map((key) => this.#given.get(key)!);
    const journal = this.#journal;
    if (journal === undefined) {
      for (const upload of inOrder) {
        await upload.store(conditionOf(this.#base));
        this.#begun.delete(upload);
      }
      return;
    }
    const [first, others] = await Promise.all([
      inOrder[0]!.prepare(),
      this.#keepOthers(inOrder.slice(1)),
    ]);
    const before = await this.#before;
    const base = this.#base?.tag ?? "*";
    const generation = this.#write;
    const record = { generation, key: this.#key, base, first, others };
    options.signal?.throwIfAborted();
    const outcome = await this.#carryOut(journal, record);
    // A later write may have changed what this one has stored.
    if (outcome.isDone || comesFrom(outcome.first!, generation)) return;
    if (base !== "*") throw new ConflictError(this.#key);
    // Another write has replaced this one.
    if (before && !comesFrom(outcome.first!, before.tag)) return;
    throw outcome.cause ?? new Error(
      `Cannot store chunk ${
        JSON.stringify(this.#key)
      }: another program has given up the write, since it could not finish it; write the chunk again`,
    );
  }

  async abort(): Promise<void> {
    await this.#before;
    if (this.#mayBeCommitted) return;
    const { objects } = this.#bucket;
    await Promise.all([
      ...Array.from(this.#begun, (upload) => this.#giveUp(upload)),
      ...this.#kept.map(async ({ upload, from }) => {
        if (upload) await abortUpload(objects, upload);
        if (from) await deleteObject(objects, from, {}, {});
      }),
    ]);
  }

  async #carryOut(journal: Journal, record: JournalRecord): Promise<Outcome> {
    const isFull = this.#base === undefined;
    try {
      const found = await journal.commit(record, isFull, {}, (isStored) => {
        this.#mayBeCommitted = isStored;
      });
      return await journal.carryOut(found, true);
    } catch (error) {
      if (!this.#mayBeCommitted) throw error;
      if (await journal.undo(record).catch(() => false)) throw error;
      throw new PendingWriteError(this.#key, { cause: error });
    }
  }

  /** Keeps the bytes of objects, and sends them to uploads under the keys of the objects. */
  async #keepOthers(uploads: readonly Upload[]): Promise<KeptUpload[]> {
    const options = this.#options;
    let left = MOST_IN_JOURNAL;
    const kept = uploads.map(async (upload, i): Promise<KeptUpload> => {
      const { size, bytes } = upload;
      const fits = bytes !== undefined && size <= left;
      if (fits) left -= size;
      let source: Source;
      if (fits) source = { base64: toBase64(bytes) };
      else {
        const from = upload.key;
        this.#kept.push({ from });
        await upload.store();
        source = { from, size };
      }
      const result = await keepUpload(
        this.#bucket,
        this.#keys[i + 1]!,
        metadataOf(this.#write, true),
        source,
        options,
      );
      this.#kept.push({ upload: result });
      return result;
    });
    // All uploads have ended before one is given up.
    await Promise.allSettled(kept);
    return await Promise.all(kept);
  }

  /** Begins to send an object: the first one under its own key, the others under temporary keys. */
  #begin(key: StoreKey): Upload {
    this.#options.signal?.throwIfAborted();
    assertInGroup(this.#keys, key);
    const isOfSeveral = this.#journal !== undefined;
    const { folder } = splitPath(this.#key);
    const isFirst = key === this.#keys[0];
    const upload = new Upload(
      this.#bucket,
      isFirst ? key : temporaryPath(folder) as StoreKey,
      this.#write,
      metadataOf(this.#write, isOfSeveral, this.#base),
      this.#options,
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
