import { loadOnce, rejectOnAbort } from "../../runtime/mod.ts";
import type {
  ChangeOptions,
  PendingValues,
  Snapshot,
  Update,
  ValuesOptions,
} from "../backend.ts";
import { BaseWritableStore } from "../base_store.ts";
import { inspectAsString } from "../describe_store.ts";
import type { HttpClient } from "../http/http_client.ts";
import { readSnapshot, readVersion } from "../http/http_snapshot.ts";
import { KeyLocks } from "../locks.ts";
import type { RecoverOptions, Recovery } from "../operations.ts";
import type {
  ByteRange,
  StoreKey,
  StoreOptions,
  StoreVersion,
} from "../store.ts";
import {
  assertNotTemporary,
  assertStorePrefix,
  isTemporary,
  keyProblem,
  mayBePart,
  splitPath,
} from "../store_key.ts";
import { type Bucket, openBucket, type S3StoreOptions } from "./bucket.ts";
import {
  findJournal,
  isBusy,
  Journal,
  journalKey,
  recoverBucket,
  unknownJournalError,
} from "./s3_journal.ts";
import {
  ABSENT,
  conditionOf,
  type Conditions,
  ConflictError,
  deleteObject,
  listObjects,
  type ObjectTag,
  probeConditions,
  TagNotes,
  tagOf,
} from "./objects.ts";
import { PendingObjects, repeatOnConflict } from "./pending_objects.ts";

/**
 * A store in a bucket of Amazon S3, or of another service with its interface, such as
 * Ceph, MinIO, Cloudflare R2 or versitygw. The value of key `/c/0/1` is the object
 * `c/0/1` below the prefix. Requests are signed (AWS Signature Version 4), and
 * repeated as {@linkcode HttpStore} does.
 *
 * Objects of a chunk of several parts are replaced together: readers of this package get
 * the objects of one write or an error, and any program that writes finishes what a
 * killed one has begun. The service must heed `If-None-Match` and `If-Match` in `PUT`
 * requests for it, and in `DELETE` requests to delete such chunks. The store tries this out
 * once, before the first such write, which throws a `TypeError` if the service does not.
 * Pieces of uploads that killed programs leave behind cost money until a lifecycle rule
 * of the bucket removes them: set it to some days.
 *
 * Long values are stored in an upload of several pieces, of which at most five are in
 * memory. Every method throws an `Error` if the service answers with an unexpected status
 * or cannot be reached. Services answer 403 for absent objects if the user may not list
 * the bucket.
 *
 * @example A public bucket
 * ```ts
 * import { S3Store } from "@zarr-parts/zarr-parts/s3";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new S3Store("s3://mur-sst/zarr-v1", {
 *   region: "us-west-2",
 *   fetch: (request) => Promise.resolve(new Response(request.url)), // instead of the network
 * });
 * assertEquals(
 *   new TextDecoder().decode(await store.get("/sst/c/0 +1")),
 *   "https://mur-sst.s3.us-west-2.amazonaws.com/zarr-v1/sst/c/0%20%2B1",
 * );
 * ```
 */
export class S3Store extends BaseWritableStore {
  readonly #bucket: Bucket;
  readonly #locks = new KeyLocks();
  readonly #probe: () => Promise<Conditions>;

  /**
   * Sends no request yet.
   *
   * @param url The bucket and the beginning of its keys, such as `s3://bucket/prefix`. A
   * text is taken as it is, and a `URL` is percent-decoded.
   * @param options The service, the credentials, and how requests are sent.
   * @throws {TypeError} If the URL is not one of a bucket, or `endpoint` does not parse.
   * @throws {RangeError} If `pieceSize` is less than 5 MiB, or another option is out of
   * range.
   */
  constructor(url: string | URL, options: S3StoreOptions = {}) {
    super();
    inspectAsString(this);
    this.#bucket = openBucket(url, options);
    this.#probe = loadOnce(() => probeConditions(this.#objects, {}));
  }

  get #objects(): HttpClient {
    return this.#bucket.objects;
  }

  /** See {@linkcode Backend.read}. */
  override async read<T>(
    keys: readonly StoreKey[],
    task: (values: Snapshot) => Promise<T>,
    options: ValuesOptions = {},
  ): Promise<T> {
    return await readSnapshot(this.#objects, keys, task, {
      ...options,
      isBeingWritten: async () => {
        const key = await journalKey(options.name ?? keys[0]!);
        const found = await findJournal(this.#objects, key, options, mayBePart);
        if (found && !found.record) throw unknownJournalError(key);
        return isBusy(found);
      },
    });
  }

  /** See {@linkcode Backend.readOf}. */
  async readOf(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return await readVersion(version, this.#objects, key, range, options);
  }

  /** See {@linkcode Backend.prepare}. */
  override async prepare(
    keys: readonly StoreKey[],
    options: ChangeOptions = {},
  ): Promise<PendingValues> {
    return await this.#begin(keys, options);
  }

  /** See {@linkcode Backend.remove}. */
  override async remove(
    keys: readonly StoreKey[],
    options: ChangeOptions = {},
  ): Promise<void> {
    options.signal?.throwIfAborted();
    await this.#remove(keys, options);
  }

  /** See {@linkcode Backend.update}. */
  override async update(
    keys: readonly StoreKey[],
    change: (values: Snapshot) => Promise<Update>,
    options: ValuesOptions = {},
  ): Promise<void> {
    const { name = keys[0]!, signal } = options;
    const run = async () => {
      const { update, base } = await this.#readToChange(keys, change, options);
      if (update === "delete") {
        await this.#remove(keys, options, await base());
      } else if (update !== "keep") {
        const pending = await this.#begin(keys, options, await base());
        try {
          await Promise.all(keys.map((key, i) => pending.set(key, update[i]!)));
          await pending.commit();
        } catch (error) {
          await pending.abort();
          throw error;
        }
      }
    };
    await this.#locks.write(
      name,
      () => repeatOnConflict(options, run),
      signal ? { signal } : {},
    );
  }

  /**
   * Lists the keys that have a value, in the order of the service. Objects whose keys are no
   * keys of a store, such as `folder/`, are left out.
   *
   * @param prefix The start of the keys, which may end within a name.
   * @param options `signal` aborts the requests, each for up to 1,000 keys.
   * @returns The keys, each once.
   * @throws {RangeError} If the prefix does not start with `/`.
   */
  async *list(
    prefix: StoreKey = "/",
    options: StoreOptions = {},
  ): AsyncIterable<StoreKey> {
    assertStorePrefix(prefix);
    for await (const { key } of listObjects(this.#bucket, prefix, options)) {
      options.signal?.throwIfAborted();
      // Other programs make keys such as "folder/", which name no value.
      const isValue = keyProblem(key.slice(1)) === undefined &&
        !isTemporary(splitPath(key).name);
      if (isValue) yield key;
    }
  }

  /**
   * Finishes what killed programs left, as the function `recover` does, and removes
   * temporary objects that no program needs. Uploads that no program has completed are
   * left to a lifecycle rule of the bucket.
   *
   * @param options `path`: the array or group to recover; `dryRun`: whether nothing is
   * changed; `signal` aborts the work.
   * @returns What was done.
   * @throws {Error} If a journal cannot be read or carried out. All others are carried
   * out before; several errors are an `AggregateError`.
   */
  async recover(options: RecoverOptions = {}): Promise<Recovery> {
    return await recoverBucket(this.#bucket, options);
  }

  /** Describes the store, as in `S3Store(s3://bucket/a.zarr)`. */
  override toString(): string {
    return `S3Store(${this.#bucket.url})`;
  }

  /** Begins to write objects, if the service heeds the conditions that several need. */
  async #begin(
    keys: readonly StoreKey[],
    options: ChangeOptions,
    base?: ObjectTag,
  ): Promise<PendingObjects> {
    options.signal?.throwIfAborted();
    for (const key of keys) assertNotTemporary(key);
    const { name = keys[0]!, exclusive, signal } = options;
    return new PendingObjects({
      bucket: this.#bucket,
      keys,
      name,
      base,
      exclusive,
      journal: keys.length > 1 ? await this.#journal(keys, options) : undefined,
      options: signal ? { signal } : {},
    });
  }

  /**
   * Runs a task that computes a change from the present objects, after the writes of
   * killed programs that are half done.
   *
   * @returns The change, and the first object as it was.
   */
  async #readToChange(
    keys: readonly StoreKey[],
    change: (values: Snapshot) => Promise<Update>,
    options: ValuesOptions,
  ): Promise<{ update: Update; base: () => Promise<ObjectTag> }> {
    const { name = keys[0]! } = options;
    const [first] = keys as [StoreKey];
    const notes = new TagNotes();
    const run = (values: Snapshot) => {
      notes.tags = new Map(); // Answers to requests of an earlier run are noted no more.
      return change(values);
    };
    const update = await readSnapshot(this.#objects, keys, run, {
      ...options,
      observe: notes.observe,
      isBeingWritten: async () => {
        if (keys.length > 1) {
          await (await this.#journal(keys, options)).help(options);
        }
        return false;
      },
    });
    const { tags } = notes;
    const base = async () => {
      const found = tags.get(first) ??
        await tagOf(this.#objects, first, options);
      // All objects tell the write that they belong to.
      const isMixed = found !== ABSENT && [...tags.values()]
        .some(({ generation, tag }) => generation && tag !== found.tag);
      if (isMixed) throw new ConflictError(name);
      return found;
    };
    return { update, base };
  }

  /**
   * Deletes objects together.
   *
   * @param base The first object, which must be the same; any if `undefined`.
   */
  async #remove(
    keys: readonly StoreKey[],
    options: ChangeOptions,
    base?: ObjectTag,
  ): Promise<void> {
    const [first] = keys as [StoreKey];
    if (keys.length === 1) {
      if (base === ABSENT) return;
      const condition = conditionOf(base);
      return await deleteObject(this.#objects, first, condition, options);
    }
    const { name = first, signal } = options;
    const journal = await this.#journal(keys, options, "delete");
    const isWhole = base === undefined;
    await journal.help(options).catch((error) => {
      // A deletion of any objects takes the place of a write that cannot be finished.
      if (!isWhole) throw error;
    });
    signal?.throwIfAborted();
    const lastFirst = [keys.at(-1)!, ...keys.slice(0, -1)];
    const removed = await Promise.all(
      lastFirst.map(async (key) => {
        const { tag, etag } = await tagOf(this.#objects, key, options);
        return { key, tag, etag };
      }),
    );
    if (removed.every(({ etag }) => etag === undefined)) return;
    const present = removed.find(({ key }) => key === first)!;
    if (base && present.tag !== base.tag) throw new ConflictError(name);
    const record = { generation: crypto.randomUUID(), key: name, removed };
    const { isDone } = await journal.run(record, isWhole, options);
    // Without a base, the write of the other program comes after this deletion.
    if (!isDone && !isWhole) throw new ConflictError(name);
  }

  /** Opens the journal of a chunk, if the service heeds the conditions that it needs. */
  async #journal(
    keys: readonly StoreKey[],
    { name = keys[0]!, signal }: ValuesOptions,
    needed: keyof Conditions = "put",
  ): Promise<Journal> {
    const conditions = await rejectOnAbort(this.#probe(), signal);
    if (!conditions.put || !conditions[needed]) {
      throw new TypeError(
        `Cannot change chunk ${
          JSON.stringify(name)
        } of several objects in ${this.#bucket.url}: ${
          conditions.put
            ? "the service ignores If-Match in DELETE requests"
            : "the service ignores If-None-Match or If-Match in PUT requests"
        }, so that readers could get the objects of two writes`,
      );
    }
    return new Journal(
      this.#objects,
      await journalKey(name),
      conditions,
      (_, key) => keys.includes(key),
    );
  }
}
