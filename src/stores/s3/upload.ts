import { joinBytes } from "../join_bytes.ts";
import type { Requests } from "../http/exchange.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import type { Bucket } from "./bucket.ts";
import { ConflictError } from "./conflict_error.ts";
import {
  abortUpload,
  completeUpload,
  createUpload,
  type PreparedUpload,
  putPiece,
  type StoredPiece,
} from "./multipart.ts";
import { putObject, tagOf } from "./objects.ts";

/** The greatest number of pieces that are sent at the same time. */
const AT_ONCE = 4;
/** The number of pieces after which their size doubles; an upload has at most 10,000. */
const DOUBLING = 1000;

/** Sends a value to a bucket piece by piece, so that only few pieces are in memory. */
export class Upload {
  readonly #requests: Requests;
  readonly #key: StoreKey;
  readonly #pieceSize: number;
  readonly #generation: string;
  readonly #options: StoreOptions;
  #buffer: Uint8Array[] = [];
  #length = 0;
  #id: Promise<string> | undefined;
  readonly #pieces: Promise<StoredPiece>[] = [];
  readonly #sending = new Set<Promise<StoredPiece>>();

  constructor(
    { objects, pieceSize }: Bucket,
    key: StoreKey,
    generation: string,
    options: StoreOptions,
  ) {
    this.#requests = objects;
    this.#key = key;
    this.#pieceSize = pieceSize;
    this.#generation = generation;
    this.#options = options;
  }

  /** Takes further bytes, which are not copied and must not change. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#options.signal?.throwIfAborted();
    while (this.#length + bytes.length >= this.#size()) {
      const rest = this.#size() - this.#length;
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
    if (this.#id === undefined) {
      const bytes = joinBytes(this.#buffer);
      return void await putObject(
        this.#requests,
        this.#key,
        bytes,
        headers,
        this.#options,
      );
    }
    const upload = await this.prepare();
    let failure = new Error(
      `Cannot complete the upload of ${
        JSON.stringify(this.#key)
      }: another program has given it up`,
    );
    try {
      const options = this.#options;
      if (await completeUpload(this.#requests, upload, options, headers)) {
        return;
      }
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      failure = error;
    }
    // The request was repeated if the answer to a successful one was lost.
    const { tag } = await tagOf(this.#requests, this.#key, this.#options);
    if (tag !== this.#generation) throw failure;
  }

  /** Sends what is left, and returns the upload, which is to be completed. */
  async prepare(): Promise<PreparedUpload> {
    if (this.#length > 0 || this.#pieces.length === 0) await this.#send();
    const pieces = await Promise.all(this.#pieces);
    return { key: this.#key, id: await this.#id!, pieces };
  }

  /** Gives the value up. */
  async abort(): Promise<void> {
    this.#buffer = [];
    await Promise.allSettled(this.#pieces);
    const id = await this.#id?.catch(() => undefined);
    if (id !== undefined) await abortUpload(this.#requests, this.#key, id);
  }

  #size(): number {
    return this.#pieceSize * 2 ** Math.floor(this.#pieces.length / DOUBLING);
  }

  async #send(): Promise<void> {
    const bytes = joinBytes(this.#buffer);
    this.#buffer = [];
    this.#length = 0;
    this.#id ??= createUpload(
      this.#requests,
      this.#key,
      this.#generation,
      this.#options,
    );
    const id = await this.#id;
    const number = this.#pieces.length + 1;
    const piece = putPiece(
      this.#requests,
      this.#key,
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
