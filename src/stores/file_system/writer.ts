import type { ByteWriter } from "../byte_io.ts";
import type { StoreOptions } from "../store.ts";
import type { PendingValue } from "./value.ts";

/** Writes a value piece by piece. */
export class FileValueWriter implements ByteWriter {
  readonly #value: PendingValue;
  readonly #options: StoreOptions;
  readonly #store: () => Promise<void>;
  #isOpen = true;

  /** @param store Stores the value, once it is written. */
  constructor(
    value: PendingValue,
    options: StoreOptions,
    store: () => Promise<void>,
  ) {
    this.#value = value;
    this.#options = options;
    this.#store = store;
  }

  async write(bytes: Uint8Array): Promise<number> {
    this.#options.signal?.throwIfAborted();
    await this.#value.append(bytes);
    return bytes.length;
  }

  /** Copies the first bytes of a file, if nothing was written before. Returns whether the file had the expected size. */
  async copy(path: string, size: number, length: number): Promise<boolean> {
    this.#options.signal?.throwIfAborted();
    return await this.#value.copy(path, size, length);
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    try {
      await this.#store();
    } catch (error) {
      await this.#value.discard();
      throw error;
    }
  }

  async abort(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#value.discard();
  }
}
