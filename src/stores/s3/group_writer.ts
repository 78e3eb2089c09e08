import { assertAllGiven, assertInGroup } from "../assert_in_group.ts";
import type { ByteWriter } from "../byte_io.ts";
import { copyBytes } from "../copy_bytes.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import type { GroupWriter } from "../store_group.ts";
import type { Bucket } from "./bucket.ts";
import { conditionOf } from "./conditions.ts";
import { ConflictError } from "./conflict_error.ts";
import type { Journal, JournalRecord } from "./journal.ts";
import { Upload } from "./upload.ts";

/** Sends the objects of a chunk to a bucket, where `close` puts them in place. */
export class S3GroupWriter implements GroupWriter {
  readonly #bucket: Bucket;
  readonly #key: StoreKey;
  readonly #keys: readonly StoreKey[];
  readonly #base: string;
  readonly #journal: Journal | undefined;
  readonly #options: StoreOptions;
  readonly #generation = crypto.randomUUID();
  readonly #given = new Map<StoreKey, Upload>();
  readonly #begun = new Set<Upload>();
  #isCommitted = false;

  constructor(
    bucket: Bucket,
    key: StoreKey,
    keys: readonly StoreKey[],
    base: string,
    journal: Journal | undefined,
    options: StoreOptions,
  ) {
    this.#bucket = bucket;
    this.#key = key;
    this.#keys = keys;
    this.#base = base;
    this.#journal = journal;
    this.#options = options;
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
    if (this.#journal === undefined) {
      for (const upload of inOrder) {
        await upload.store(conditionOf(this.#base));
        this.#begun.delete(upload);
      }
      return;
    }
    const uploads = await Promise.all(
      inOrder.map((upload) => upload.prepare()),
    );
    const record: JournalRecord = {
      generation: this.#generation,
      key: this.#key,
      base: this.#base,
      uploads,
    };
    options.signal?.throwIfAborted();
    // The request may be answered by an error after the bucket has stored the journal.
    this.#isCommitted = true;
    const found = await this.#journal.commit(record, {});
    if (!await this.#journal.carryOut(found)) {
      throw new ConflictError(this.#key);
    }
  }

  async abort(): Promise<void> {
    if (this.#isCommitted) return;
    await Promise.all(Array.from(this.#begun, (upload) => this.#end(upload)));
  }

  #begin(key: StoreKey): Upload {
    this.#options.signal?.throwIfAborted();
    assertInGroup(this.#keys, key);
    const upload = new Upload(
      this.#bucket,
      key,
      this.#generation,
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
