import { joinBytes } from "../join_bytes.ts";
import type { Requests } from "../http/exchange.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import type { Bucket } from "./bucket.ts";
import { ConflictError } from "./conflict_error.ts";
import {
  abortUpload,
  completeUpload,
  createUpload,
  type Metadata,
  type PreparedUpload,
  putPiece,
  settleUpload,
  type StoredPiece,
} from "./multipart.ts";
import {
  ABSENT,
  comesFrom,
  type ObjectTag,
  putObject,
  tagOf,
} from "./objects.ts";

/** The greatest number of pieces that are sent at the same time. */
const AT_ONCE = 4;
/** The number of pieces after which their size doubles; an upload has at most 10,000. */
const DOUBLING = 1000;

/** Sends a value to a bucket piece by piece, so that only few pieces are in memory. */
export class Upload {
  readonly #requests: Requests;
  /** The key of the object. */
  readonly key: StoreKey;
  readonly #pieceSize: number;
  readonly #write: string;
  readonly #metadata: Metadata;
  readonly #options: StoreOptions;
  #buffer: Uint8Array[] = [];
  #length = 0;
  #sent = 0;
  #id: Promise<string> | undefined;
  readonly #pieces: Promise<StoredPiece>[] = [];
  readonly #sending = new Set<Promise<StoredPiece>>();

  /**
   * @param write The number of the write, which `metadata` tells.
   * @param metadata The headers of the object.
   */
  constructor(
    { objects, pieceSize }: Bucket,
    key: StoreKey,
    write: string,
    metadata: Metadata,
    options: StoreOptions,
  ) {
    this.#requests = objects;
    this.key = key;
    this.#pieceSize = pieceSize;
    this.#write = write;
    this.#metadata = metadata;
    this.#options = options;
  }

  /** The number of bytes that were written. */
  get size(): number {
    return this.#sent + this.#length;
  }

  /** The whole value, unless a piece of it has been sent. */
  get bytes(): Uint8Array | undefined {
    return this.#id === undefined ? joinBytes(this.#buffer) : undefined;
  }

  /** Takes further bytes, which are not copied and must not change. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#options.signal?.throwIfAborted();
    while (this.#length + bytes.length >= this.#nextSize()) {
      const rest = this.#nextSize() - this.#length;
      this.#buffer.push(bytes.subarray(0, rest));
      this.#length += rest;
      bytes = bytes.subarray(rest);
      await this.#send();
    }
    if (bytes.length > 0) this.#buffer.push(bytes);
    this.#length += bytes.length;
  }

  /**
   * Stores the value.
   *
   * @param headers Conditions, such as `If-Match`.
   */
  async store(headers: Record<string, string> = {}): Promise<void> {
    const requests = this.#requests;
    const { bytes } = this;
    let state: ObjectTag = ABSENT;
    const isStored = async () => {
      state = await tagOf(requests, this.key, this.#options);
      return comesFrom(state, this.#write);
    };
    let failure: Error;
    try {
      if (bytes !== undefined) {
        const all = { ...this.#metadata, ...headers };
        await putObject(requests, this.key, bytes, all, this.#options);
        return;
      }
      const upload = await this.prepare();
      const completion = await completeUpload(
        requests,
        upload,
        this.#options,
        headers,
      );
      await settleUpload(requests, upload, completion, isStored);
      if (comesFrom(state, this.#write)) return;
      failure = typeof completion === "object" ? completion.spoilt : new Error(
        `Cannot complete the upload of ${
          JSON.stringify(this.key)
        }: another program has given it up`,
      );
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      failure = error;
    }
    // The request was repeated if the answer to a successful one was lost.
    if (!await isStored()) throw failure;
  }

  /** Sends what is left, and returns the upload, which is to be completed. */
  async prepare(): Promise<PreparedUpload> {
    if (this.#length > 0 || this.#pieces.length === 0) await this.#send();
    const pieces = await Promise.all(this.#pieces);
    return { key: this.key, id: await this.#id!, pieces };
  }

  /** Gives the value up. */
  async abort(): Promise<void> {
    this.#buffer = [];
    await Promise.allSettled(this.#pieces);
    const id = await this.#id?.catch(() => undefined);
    if (id !== undefined) {
      await abortUpload(this.#requests, { key: this.key, id });
    }
  }

  #nextSize(): number {
    return this.#pieceSize * 2 ** Math.floor(this.#pieces.length / DOUBLING);
  }

  async #send(): Promise<void> {
    const bytes = joinBytes(this.#buffer);
    this.#buffer = [];
    this.#length = 0;
    this.#sent += bytes.length;
    this.#id ??= createUpload(
      this.#requests,
      this.key,
      this.#metadata,
      this.#options,
    );
    const id = await this.#id;
    const number = this.#pieces.length + 1;
    const piece = putPiece(
      this.#requests,
      this.key,
      id,
      number,
      bytes,
      this.#options,
    );
    this.#pieces.push(piece);
    this.#sending.add(piece);
    // A piece that fails stays, so that a long value is not read to its end in vain.
    piece.then(() => this.#sending.delete(piece), () => {});
    if (this.#sending.size >= AT_ONCE) await Promise.race(this.#sending);
  }
}
