import { noteOwnedMemory } from "../capabilities.ts";
import { loadOnce, rejectOnAbort } from "../../runtime/mod.ts";
import { inspectAsString } from "../describe_store.ts";
import { HttpValue, readVersion } from "../http/http_values.ts";
import { KeyLocks } from "../locks.ts";
import type { RecoverOptions, Recovery } from "../recover.ts";
import {
  assertByteRange,
  type ByteRange,
  type GetOptions,
  type Store,
  type StoreGroup,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../store.ts";
import { assertStoreKey } from "../store_key.ts";
import { type Bucket, openBucket, type S3StoreOptions } from "./bucket.ts";
import { deleteObject, listKeys, probeConditions } from "./objects.ts";
import { S3Group, type SharedByGroups } from "./s3_group.ts";
import { recoverBucket } from "./s3_journal.ts";
import { storeObject } from "./uploads.ts";

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
 * Every method throws a `RangeError` for a key that is not `/` and names joined by `/`,
 * an `Error` if the service answers with an unexpected status or cannot be reached, and
 * the signal's reason once the operation is aborted. Services answer 403 for absent
 * objects if the user may not list the bucket.
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
export class S3Store implements Store {
  readonly #bucket: Bucket;
  readonly #shared: Omit<SharedByGroups, "locks">;

  /**
   * Sends no request yet.
   *
   * @param url The bucket and the beginning of its keys, such as `s3://bucket/prefix`. A
   * text is taken as it is, and a `URL` is percent-decoded.
   * @param options The service, the credentials, and how requests are sent.
   * @throws {TypeError} If the URL is not one of a bucket, or `endpoint` does not parse.
   * @throws {RangeError} If `pieceSize` is less than 5 MiB, or another option is out of
   * range.
   *
   * @example A service of one's own
   * ```ts
   * import { S3Store } from "@zarr-parts/zarr-parts/s3";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new S3Store("s3://bucket/data.zarr", {
   *   endpoint: "http://127.0.0.1:9000",
   *   credentials: { accessKeyId: "name", secretAccessKey: "secret" },
   * });
   * assertEquals(String(store), "S3Store(s3://bucket/data.zarr)");
   * ```
   */
  constructor(url: string | URL, options: S3StoreOptions = {}) {
    inspectAsString(this);
    if (new.target === S3Store) noteOwnedMemory(this); // Not for subclasses.
    const bucket = this.#bucket = openBucket(url, options);
    const probe = loadOnce(() => probeConditions(bucket.objects, {}));
    this.#shared = {
      bucket,
      conditions: ({ signal }) => rejectOnAbort(probe(), signal),
    };
  }

  /**
   * Reads a whole object.
   *
   * @param key The key below the prefix.
   * @param options `signal` aborts the request; `limit` is the greatest length in bytes.
   * @returns The bytes, or `undefined` if there is no such object.
   * @throws {SizeLimitError} If the object is longer than `limit`.
   *
   * @example
   * ```ts
   * import { S3Store } from "@zarr-parts/zarr-parts/s3";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new S3Store("s3://bucket", {
   *   fetch: () => Promise.resolve(new Response(null, { status: 404 })),
   * });
   * assertEquals(await store.get("/c/0"), undefined);
   * ```
   */
  async get(
    key: StoreKey,
    options: GetOptions = {},
  ): Promise<Uint8Array | undefined> {
    return await new HttpValue(this.#bucket.objects, key, options).bytes(
      options.limit,
    );
  }

  /**
   * Reads a range of an object.
   *
   * @param key The key below the prefix.
   * @param range Which bytes: whole numbers from 0 to 2^53−1.
   * @param options `signal` aborts the request.
   * @returns The bytes, fewer where the object ends before the range, or `undefined` if
   * there is no such object.
   *
   * @example
   * ```ts
   * import { S3Store } from "@zarr-parts/zarr-parts/s3";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new S3Store("s3://bucket", {
   *   fetch: ({ headers }) => {
   *     assertEquals(headers.get("range"), "bytes=2-4");
   *     return Promise.resolve(new Response("234", {
   *       status: 206,
   *       headers: { "Content-Range": "bytes 2-4/10" },
   *     }));
   *   },
   * });
   * assertEquals((await store.getRange("/c/0", { offset: 2, length: 3 }))?.length, 3);
   * ```
   */
  async getRange(
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    return await new HttpValue(this.#bucket.objects, key, options).range(range);
  }

  /**
   * Reads an object as a stream.
   *
   * @param key The key below the prefix.
   * @param options `signal` aborts the request, also while the stream is read.
   * @returns The bytes while they arrive, or `undefined` if there is no such object.
   *
   * @example
   * ```ts
   * import { S3Store } from "@zarr-parts/zarr-parts/s3";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new S3Store("s3://bucket", {
   *   fetch: () => Promise.resolve(new Response("0123456789")),
   * });
   * assertEquals(await new Response(await store.stream("/c/0")).text(), "0123456789");
   * ```
   */
  async stream(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>> | undefined> {
    return await new HttpValue(this.#bucket.objects, key, options).stream() as
      | ReadableStream<Uint8Array<ArrayBuffer>>
      | undefined;
  }

  /**
   * Asks for the length of an object.
   *
   * @param key The key below the prefix.
   * @param options `signal` aborts the request.
   * @returns The length in bytes, or `undefined` if there is no such object.
   *
   * @example
   * ```ts
   * import { S3Store } from "@zarr-parts/zarr-parts/s3";
   * import { assertEquals } from "@std/assert";
   *
   * const headers = { "Content-Length": "1604" };
   * const store = new S3Store("s3://bucket", {
   *   fetch: () => Promise.resolve(new Response(null, { headers })),
   * });
   * assertEquals(await store.size("/c/0"), 1604);
   * ```
   */
  async size(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<number | undefined> {
    return await new HttpValue(this.#bucket.objects, key, options).size();
  }

  /**
   * Stores an object as a whole: in one request if it is short, else in an upload of
   * several pieces, of which at most five are in memory. A failed upload is given up.
   *
   * @param key The key below the prefix.
   * @param value The bytes, or a stream of them.
   * @param options `signal` aborts the requests.
   * @throws {TypeError} If the value is neither bytes nor a stream of them.
   *
   * @example
   * ```ts
   * import { S3Store } from "@zarr-parts/zarr-parts/s3";
   * import { assertEquals } from "@std/assert";
   *
   * const methods: string[] = [];
   * const store = new S3Store("s3://bucket", {
   *   fetch: ({ method }) => {
   *     methods.push(method);
   *     return Promise.resolve(new Response());
   *   },
   * });
   * await store.set("/c/0", new Uint8Array(9));
   * assertEquals(methods, ["PUT"]);
   * ```
   */
  async set(
    key: StoreKey,
    value: Uint8Array | ReadableStream<Uint8Array>,
    options: StoreOptions = {},
  ): Promise<void> {
    await storeObject(this.#bucket, key, value, options);
  }

  /**
   * Removes an object. No error if there is none.
   *
   * @param key The key below the prefix.
   * @param options `signal` aborts the request.
   *
   * @example
   * ```ts
   * import { S3Store } from "@zarr-parts/zarr-parts/s3";
   *
   * const store = new S3Store("s3://bucket", {
   *   fetch: () => Promise.resolve(new Response(null, { status: 204 })),
   * });
   * await store.delete("/c/0");
   * ```
   */
  async delete(key: StoreKey, options: StoreOptions = {}): Promise<void> {
    await deleteObject(this.#bucket.objects, key, {}, options);
  }

  /**
   * Lists the keys that have a value, in the order of the service.
   *
   * @param prefix The start of the keys, which may end within a name.
   * @param options `signal` aborts the requests, each for up to 1,000 keys.
   * @returns The keys, each once. Objects whose keys are no keys of a store, such as
   * `folder/`, are left out.
   * @throws {RangeError} If the prefix does not start with `/`.
   *
   * @example
   * ```ts
   * import { S3Store } from "@zarr-parts/zarr-parts/s3";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new S3Store("s3://bucket/a.zarr", {
   *   fetch: () => Promise.resolve(new Response(
   *     "<ListBucketResult><Contents><Key>a.zarr/c/0</Key></Contents></ListBucketResult>",
   *   )),
   * });
   * assertEquals(await Array.fromAsync(store.list()), ["/c/0"]);
   * ```
   */
  async *list(
    prefix: StoreKey = "/",
    options: StoreOptions = {},
  ): AsyncIterable<StoreKey> {
    yield* listKeys(this.#bucket, prefix, options);
  }

  /**
   * Returns values that are read, replaced and deleted together.
   *
   * @param key The key of the chunk that the values are parts of.
   * @param keys The keys of the values, in the order in which they are stored.
   * @returns The group. Nothing is requested yet. Its methods that change several values
   * throw a `PendingWriteError` if the change has begun and will be finished.
   *
   * @example
   * ```ts
   * import { S3Store } from "@zarr-parts/zarr-parts/s3";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new S3Store("s3://bucket", {
   *   fetch: () => Promise.resolve(new Response("part")),
   * });
   * const group = store.group("/c/0", ["/c/0", "/c/0.index"]);
   * const parts = await group.read((values) =>
   *   Promise.all([values.get("/c/0"), values.get("/c/0.index")])
   * );
   * assertEquals(parts.map((part) => part?.length), [4, 4]);
   * ```
   */
  group(key: StoreKey, keys: readonly StoreKey[]): StoreGroup {
    for (const each of [key, ...keys]) assertStoreKey(each);
    // A class that overrides this method may not pass on the options that tell of a lock.
    const isOwn = this.group === S3Store.prototype.group;
    const locks = KeyLocks.of(isOwn ? this : this.#shared);
    return new S3Group({ ...this.#shared, locks }, key, keys);
  }

  /**
   * Reads a range of one version of an object.
   *
   * @param version The version, as a group told it.
   * @param key The key below the prefix.
   * @param range Which bytes: whole numbers from 0 to 2^53−1.
   * @param options `signal` aborts the request.
   * @returns The bytes, as `getRange` does; `undefined` if the key has another object by
   * now, or none.
   *
   * @example An object that is replaced
   * ```ts
   * import { S3Store } from "@zarr-parts/zarr-parts/s3";
   * import { assertEquals } from "@std/assert";
   *
   * let etag = '"1"';
   * const store = new S3Store("s3://bucket", {
   *   fetch: () => Promise.resolve(new Response("0123456789", { headers: { etag } })),
   * });
   * const version = await store.group("/c/0", ["/c/0"]).read(async (values) => {
   *   await values.get("/c/0");
   *   return values.version("/c/0")!;
   * });
   * const range = { offset: 0, length: 2 };
   * assertEquals((await store.getRangeOf(version, "/c/0", range))?.length, 2);
   * etag = '"2"';
   * assertEquals(await store.getRangeOf(version, "/c/0", range), undefined);
   * ```
   */
  async getRangeOf(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    assertStoreKey(key);
    return await readVersion(
      version,
      this.#bucket.objects,
      key,
      range,
      options,
    );
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
   *
   * @example
   * ```ts
   * import { S3Store } from "@zarr-parts/zarr-parts/s3";
   * import { recover } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new S3Store("s3://bucket", {
   *   fetch: () => Promise.resolve(new Response("<ListBucketResult/>")),
   * });
   * assertEquals((await recover(store)).written, []);
   * ```
   */
  async recover(options: RecoverOptions = {}): Promise<Recovery> {
    return await recoverBucket(this.#bucket, options);
  }

  /**
   * Describes the store, for messages.
   *
   * @returns The class and the URL of the bucket.
   *
   * @example
   * ```ts
   * import { S3Store } from "@zarr-parts/zarr-parts/s3";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(String(new S3Store("s3://bucket/a.zarr")), "S3Store(s3://bucket/a.zarr)");
   * ```
   */
  toString(): string {
    return `S3Store(${this.#bucket.url})`;
  }
}
