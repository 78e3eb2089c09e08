import type { ByteWriter } from "../byte_io.ts";
import type { PendingValue } from "./value.ts";
import type { StoreOptions } from "../store.ts";

/** Writes a value piece by piece. */
export class FileValueWriter implements ByteWriter {
  readonly #value: PendingValue;
  readonly #file: Deno.FsFile;
  readonly #options: StoreOptions;
  #isOpen = true;

  private constructor(
    value: PendingValue,
    file: Deno.FsFile,
    options: StoreOptions,
  ) {
    this.#value = value;
    this.#file = file;
    this.#options = options;
  }

  static async open(
    value: PendingValue,
    options: StoreOptions,
  ): Promise<FileValueWriter> {
    return new FileValueWriter(value, await value.open(), options);
  }

  async write(bytes: Uint8Array): Promise<number> {
    this.#options.signal?.throwIfAborted();
    return await this.#file.write(bytes);
  }

  async close(): Promise<void> {
    this.#end();
    try {
      await this.#value.store(this.#options);
    } catch (error) {
      await this.#value.discard();
      throw error;
    }
  }

  async abort(): Promise<void> {
    if (!this.#isOpen) return;
    this.#end();
    await this.#value.discard();
  }

  #end(): void {
    this.#isOpen = false;
    this.#file.close();
  }
}
