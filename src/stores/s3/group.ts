import { readGroup } from "../http/group.ts";
import type { KeyLocks } from "../key_locks.ts";
import { pause } from "../pause.ts";
import { PendingWriteError } from "../pending_write_error.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import type { GroupValues, GroupWriter, StoreGroup } from "../store_group.ts";
import type { Bucket } from "./bucket.ts";
import { conditionOf, type Conditions } from "./conditions.ts";
import { ConflictError } from "./conflict_error.ts";
import { S3GroupWriter } from "./group_writer.ts";
import { findJournal, isBusy, Journal, unknownJournal } from "./journal.ts";
import { journalKey } from "./journal_key.ts";
import { deleteObject, type ObjectTag, tagOf } from "./objects.ts";

/** The most repetitions of a locked task after another program has changed the chunk. */
const TRIES = 20;
/** The time before the second run in milliseconds; doubles with each run up to `LONGEST_PAUSE`. */
const FIRST_PAUSE = 10;
const LONGEST_PAUSE = 1000;

/** The parts of a store that a group works with. */
export interface GroupPlace {
  readonly bucket: Bucket;
  readonly locks: KeyLocks;
  /** Finds out once which conditions the bucket heeds. */
  conditions(options: StoreOptions): Promise<Conditions>;
}

/** The objects of a chunk in a bucket, which are replaced together. */
export class S3Group implements StoreGroup {
  readonly #place: GroupPlace;
  readonly #key: StoreKey;
  readonly #keys: readonly StoreKey[];
  /** The first object when the lock was taken; `undefined` without a lock. */
  readonly #base: ObjectTag | undefined;

  constructor(
    place: GroupPlace,
    key: StoreKey,
    keys: readonly StoreKey[],
    base?: ObjectTag,
  ) {
    this.#place = place;
    this.#key = key;
    this.#keys = keys;
    this.#base = base;
  }

  async read<T>(
    task: (values: GroupValues) => Promise<T>,
    options: StoreOptions = {},
  ): Promise<T> {
    const { objects } = this.#place.bucket;
    return await readGroup(objects, this.#key, this.#keys, task, options, {
      isBeingWritten: async () => {
        if (this.#keys.length === 1) return false;
        const place = await journalKey(this.#key);
        const found = await findJournal(objects, place, options);
        if (found && !found.record) throw unknownJournal(place);
        return isBusy(found);
      },
    });
  }

  async write(options: StoreOptions = {}): Promise<GroupWriter> {
    options.signal?.throwIfAborted();
    const journal = this.#needsJournal
      ? await this.#journal(options)
      : undefined;
    return new S3GroupWriter(
      this.#place.bucket,
      this.#key,
      this.#keys,
      this.#base,
      journal,
      options,
    );
  }

  async delete(options: StoreOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    const { objects } = this.#place.bucket;
    if (!this.#needsJournal) {
      const key = this.#keys[0]!;
      if (this.#base === undefined || this.#base.etag !== undefined) {
        const condition = conditionOf(this.#base);
        return await deleteObject(objects, key, condition, options);
      }
      // DELETE requests know no condition for an object that was absent.
      const { etag } = await tagOf(objects, key, options);
      if (etag !== undefined) throw new ConflictError(key);
      return;
    }
    const journal = await this.#journal(options, "delete");
    const isLocked = this.#base !== undefined;
    await this.#finishOthers(options).catch((error) => {
      // A deletion takes the place of what cannot be finished.
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

  /**
   * Runs the task, and runs it again if another program has changed the chunk
   * meanwhile: buckets have no locks.
   */
  async lock<T>(
    task: (group: StoreGroup) => Promise<T>,
    options: StoreOptions = {},
  ): Promise<T> {
    const { bucket, locks } = this.#place;
    return await locks.write(this.#key, async () => {
      for (let tries = 1;; tries++) {
        options.signal?.throwIfAborted();
        await this.#finishOthers(options);
        const base = await tagOf(bucket.objects, this.#keys[0]!, options);
        try {
          return await task(
            new S3Group(this.#place, this.#key, this.#keys, base),
          );
        } catch (error) {
          if (!(error instanceof ConflictError) || tries === TRIES) throw error;
        }
        const longest = Math.min(
          FIRST_PAUSE * 2 ** (tries - 1),
          LONGEST_PAUSE,
        );
        await pause(longest * (0.5 + Math.random() / 2), options.signal);
      }
    });
  }

  get #needsJournal(): boolean {
    return this.#keys.length > 1;
  }

  async #finishOthers(options: StoreOptions): Promise<void> {
    if (!this.#needsJournal) return;
    const { objects } = this.#place.bucket;
    const place = await journalKey(this.#key);
    const found = await findJournal(objects, place, options);
    if (isBusy(found)) await (await this.#journal(options)).carryOut(found);
  }

  async #journal(
    options: StoreOptions,
    needed: keyof Conditions = "put",
  ): Promise<Journal> {
    const conditions = await this.#place.conditions(options);
    if (!conditions.put || !conditions[needed]) {
      throw new TypeError(
        `Cannot change chunk ${
          JSON.stringify(this.#key)
        } of several objects in ${this.#place.bucket.url}: ${
          conditions.put
            ? "the service ignores If-Match in DELETE requests"
            : "the service ignores If-None-Match or If-Match in PUT requests"
        }, so that readers could get the objects of two writes`,
      );
    }
    const place = await journalKey(this.#key);
    return new Journal(this.#place.bucket, place, conditions);
  }
}
