/** Programs that read and write one chunk of several files on a simulated disk. */
import type { Snapshot } from "../../../src/stores/backend.ts";
import { toBytes } from "../../../src/stores/byte_streams.ts";
import type { StoreKey } from "../../../src/stores/store.ts";
import { isTemporary, splitPath } from "../../../src/stores/store_key.ts";
import type { Code } from "./file_system_code.ts";
import type { Environment, Program } from "./simulated_process.ts";

const FOLDER = "/c";
const isPart = (chunk: StoreKey, key: StoreKey) => key.startsWith(chunk);

/** The keys of a chunk of 1 to 3 files, in storing order. */
export function keysOf(parts: number): StoreKey[] {
  const keys: StoreKey[] = ["/c/0", "/c/0.head", "/c/0.tail"];
  return parts === 1
    ? keys.slice(0, 1)
    : [...keys.slice(0, parts - 1), keys[2]!];
}

/** The bytes of one generation of a chunk. All have the same length, so that sizes do not tell them apart. */
export function textOf(generation: string): string {
  return generation.padEnd(4, ".");
}

function generationOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replaceAll(".", "");
}

/** Says what the parts of a chunk are: one generation, nothing or a mixture. */
function describe(found: readonly (string | undefined)[]): string {
  const generations = new Set(found.map((each) => each ?? "-"));
  if (generations.size > 1) return `MIX ${[...generations]}`;
  return generations.has("-") ? "absent" : `generation ${found[0]}`;
}

export class Programs {
  readonly #code: Code;
  readonly #keys: readonly StoreKey[];

  constructor(code: Code, parts: number) {
    this.#code = code;
    this.#keys = keysOf(parts);
  }

  /** Replaces the chunk by a generation with the name of the process. */
  readonly write: Program = async ({ context, name, signal }) => {
    const pending = await this.#code
      .prepareFiles(context, this.#keys, { signal });
    try {
      for (const [i, key] of this.#keys.entries()) {
        await pending.set(key, this.#bytes(name)[i]!);
      }
    } catch (error) {
      await pending.abort();
      throw error;
    }
    await pending.commit();
    return "ok";
  };

  /** Replaces a chunk of one file, without temporary files that are its own. */
  readonly set: Program = async ({ context, name, signal }) => {
    const [bytes] = this.#bytes(name);
    await this.#code.writeFile(context, this.#keys[0]!, bytes!, { signal });
    return "ok";
  };

  readonly delete: Program = async ({ context, signal }) => {
    await this.#code.removeFiles(context, this.#keys, { signal });
    return "ok";
  };

  /** Appends the name of the process to the generation that is there. */
  readonly update: Program = async ({ context, name, signal }) => {
    let result = "ok";
    await this.#code.updateFiles(context, this.#keys, async (values) => {
      const found = await this.#generation(values);
      const generation = found.match(/^generation (.*)/)?.[1];
      if (generation === undefined && found !== "absent") {
        result = found;
        return "keep";
      }
      return this.#bytes((generation ?? "") + name);
    }, { signal });
    return result;
  };

  readonly recover: Program = async ({ context, list }) => {
    const listed = async function* () {
      for (const path of await list()) {
        if (isTemporary(splitPath(path).name)) yield { folder: FOLDER, path };
      }
    };
    await this.#code.recoverFiles(context, listed, { isPart });
    return "ok";
  };

  readonly read: Program = (environment) =>
    this.#read(environment, (values) => this.#generation(values));

  /** Opens streams, and reads them when the task has ended. */
  readonly stream: Program = async (environment) => {
    const streams = await this.#read(
      environment,
      (values) => inTurn(this.#keys, (key) => values.stream(key)),
    );
    const found = await inTurn(
      streams.toReversed(),
      async (stream) => stream && generationOf(await toBytes(stream)),
    );
    return describe(found);
  };

  /** Reads the last part and keeps the version of the first one, of which a range is read twice later. */
  readonly version: Program = async (environment) => {
    const [first, last] = [this.#keys[0]!, this.#keys.at(-1)!];
    const kept = await this.#read(environment, async (values) => {
      const index = await values.read(last);
      const version = values.version(first);
      return index && version && { index: generationOf(index), version };
    });
    if (kept === undefined) return "absent";
    const { index, version } = kept;
    try {
      for (let i = 0; i < 2; i++) {
        const range = { offset: 0, length: 4 };
        const bytes = await this.#code
          .readFileOf(environment.context, version, first, range);
        if (bytes === undefined) return "changed";
        const found = describe([generationOf(bytes), index]);
        if (found.startsWith("MIX")) return found;
      }
    } finally {
      version.release();
    }
    return `generation ${index}`;
  };

  #read<T>(
    { context }: Environment,
    task: (values: Snapshot) => Promise<T>,
  ): Promise<T> {
    return this.#code.readFiles(context, this.#keys, task);
  }

  async #generation(values: Snapshot): Promise<string> {
    const found = await inTurn(this.#keys, (key) => values.read(key));
    return describe(found.map((bytes) => bytes && generationOf(bytes)));
  }

  #bytes(generation: string): Uint8Array[] {
    const text = textOf(generation);
    return this.#keys.map(() => new TextEncoder().encode(text));
  }
}

/** Does something with one item after another, since a process does one operation at a time. */
async function inTurn<T, U>(
  items: readonly T[],
  task: (item: T) => Promise<U>,
): Promise<U[]> {
  const results: U[] = [];
  for (const item of items) results.push(await task(item));
  return results;
}
