import { assertAllGiven, assertInGroup } from "../assert_in_group.ts";
import type { ByteWriter } from "../byte_io.ts";
import { copyBytes } from "../copy_bytes.ts";
import { splitPath } from "../key_path.ts";
import { PendingWriteError } from "../pending_write_error.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import type { GroupWriter } from "../store_group.ts";
import { temporaryPath } from "../temporary_name.ts";
import type { Bucket } from "./bucket.ts";
import { conditionOf } from "./conditions.ts";
import { ConflictError } from "./conflict_error.ts";
import {
  type Journal,
  type JournalRecord,
  keepUpload,
  type KeptUpload,
  type Outcome,
  type Source,
  toBase64,
} from "./journal.ts";
import { abortUpload, type PreparedUpload } from "./multipart.ts";
import {
  comesFrom,
  deleteObject,
  metadataOf,
  type ObjectTag,
  tagOf,
} from "./objects.ts";
import { Upload } from "./upload.ts";

/** The most bytes that a journal keeps of the objects of a chunk. Longer ones are kept in objects of their own. */
const MOST_IN_JOURNAL = 2 ** 19;

/**
 * Sends the objects of a chunk to a bucket, where `close` puts them in place.
 *
 * Of several objects, the first one is an upload under its own key, whose completion is
 * the commit. All others can be lost with their uploads from then on, so that their bytes
 * are kept until they are in place.
 */
export class S3GroupWriter implements GroupWriter {
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
  /** The first object before the write, if the write replaces any. */
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
    await this.#give(key, upload);
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async writer(key: StoreKey): Promise<ByteWriter> {
    const upload = this.#begin(key);
    return {
      write: async (bytes) => {
        await upload.write(copyBytes(bytes));
        return bytes.length;
      },
      close: () => this.#give(key, upload),
      abort: () => this.#end(upload),
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
    // The latter is a write that has changed this one.
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
      ...Array.from(this.#begun, (upload) => this.#end(upload)),
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
    // All have ended before anything is given up.
    await Promise.allSettled(kept);
    return await Promise.all(kept);
  }

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

  async #give(key: StoreKey, upload: Upload): Promise<void> {
    const earlier = this.#given.get(key);
    this.#given.set(key, upload);
    if (earlier && earlier !== upload) await this.#end(earlier);
  }

  async #end(upload: Upload): Promise<void> {
    this.#begun.delete(upload);
    await upload.abort();
  }
}
