import type { Snapshot, StoreKey } from "../../../mod.ts";
import type { S3Store } from "../../../s3.ts";

/** The ends of the keys of the objects of a chunk in storing order. */
export const TWO: readonly string[] = ["", ".i"];
export const THREE: readonly string[] = ["", ".h", ".i"];

export const KEY: StoreKey = "/c/0";

/** A chunk of several objects in a bucket, or of one. All of its objects tell the same number. */
export class Chunk {
  readonly store: S3Store;
  readonly key: StoreKey;
  readonly keys: readonly StoreKey[];
  readonly #length: number;

  /** @param length The number of bytes of each object. */
  constructor(
    store: S3Store,
    suffixes: readonly string[] = TWO,
    key: StoreKey = KEY,
    length = 9,
  ) {
    this.store = store;
    this.key = key;
    this.keys = suffixes.map((suffix): StoreKey => `${key}${suffix}`);
    this.#length = length;
  }

  /** Reads the number; `undefined` if there is no object. */
  async read(): Promise<number | undefined> {
    const { keys, key: name } = this;
    return await this.store.read(keys, (values) => this.numberIn(values), {
      name,
    });
  }

  /** Replaces the objects. With a check, only if it accepts the number that is there. */
  async write(
    number: number,
    check?: (present: number | undefined) => void,
  ): Promise<void> {
    const pending = await this.store.prepare(this.keys, { name: this.key });
    try {
      for (const key of this.keys) await pending.set(key, this.#bytes(number));
      await pending.commit(
        check && (async (values) => check(await this.numberIn(values))),
      );
    } catch (error) {
      await pending.abort(error);
      throw error;
    }
  }

  /** Changes the number. */
  async update(
    change: (present: number | undefined) => number | "keep" | "delete",
  ): Promise<void> {
    await this.store.update(this.keys, async (values) => {
      const result = change(await this.numberIn(values));
      return typeof result === "number"
        ? this.keys.map(() => this.#bytes(result))
        : result;
    }, { name: this.key });
  }

  async delete(): Promise<void> {
    await this.store.remove(this.keys, { name: this.key });
  }

  /** The number that all objects of a snapshot tell. */
  async numberIn(values: Snapshot): Promise<number | undefined> {
    const numbers = await Promise.all(this.keys.map(async (key) => {
      const bytes = await values.read(key);
      return bytes && new TextDecoder().decode(bytes.subarray(0, 8));
    }));
    if (numbers.every((number) => number === numbers[0])) {
      return numbers[0] === undefined ? undefined : Number(numbers[0]);
    }
    throw new MixedError(`Mixed: ${numbers}`);
  }

  #bytes(number: number): Uint8Array {
    const bytes = new Uint8Array(this.#length);
    const digits = `${number}`.padStart(8, "0");
    bytes.set(new TextEncoder().encode(digits));
    return bytes;
  }
}

/** Thrown if the objects of a chunk are of different writes. */
export class MixedError extends Error {}
