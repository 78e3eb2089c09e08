/** Programs that read and write one chunk of several files on a simulated disk. */
import { toBytes } from "../../../src/stores/byte_streams.ts";
import type { FileVersion } from "../../../src/stores/file_system/file_version.ts";
import type { Folders } from "../../../src/stores/file_system/files.ts";
import { OpenFiles } from "../../../src/stores/file_system/open_files.ts";
import type { StoreGroup, StoreKey } from "../../../src/stores/store.ts";
import {
  isJournal,
  isTemporary,
  splitPath,
} from "../../../src/stores/store_key.ts";
import type { Code } from "./file_system_code.ts";
import type { Environment, Program } from "./simulated_process.ts";

const FOLDER = "/c";
export const CHUNK = "/c/0";

/** Killed programs never close their files, so that a limit would stop the others. */
const UNLIMITED = new OpenFiles(Infinity);

/** The keys of a chunk of 1 to 3 files, in storing order. */
export function keysOf(parts: number): StoreKey[] {
  const keys: StoreKey[] = ["/c/0", "/c/0.head", "/c/0.tail"];
  return parts === 1
    ? keys.slice(0, 1)
    : [...keys.slice(0, parts - 1), keys[2]!];
}

/** The bytes of one generation of a chunk. All have the same length, unless sizes tell them apart. */
export function textOf(generation: string, isSized = false): string {
  const length = isSized ? 2 + generation.charCodeAt(0) % 16 : 4;
  return generation.padEnd(length, ".");
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
  readonly #isSized: boolean;

  constructor(code: Code, parts: number, isSized = false) {
    this.#code = code;
    this.#keys = keysOf(parts);
    this.#isSized = isSized;
  }

  /** Replaces the chunk by a generation with the name of the process. */
  readonly write: Program = async (environment) => {
    const group = this.#group(environment, environment.blindRoot);
    return await this.#put(group, environment.name, environment.signal);
  };

  readonly delete: Program = async (environment) => {
    const group = this.#group(environment, environment.blindRoot);
    await group.delete!({ signal: environment.signal });
    return "ok";
  };

  /** Appends the name of the process to the generation that is there. */
  readonly update: Program = async (environment) => {
    const { name, root, signal } = environment;
    const group = this.#group(environment, root);
    return await group.lock!(async (group) => {
      const found = await this.#read(group);
      const generation = found.match(/^generation (.*)/)?.[1];
      if (generation === undefined && found !== "absent") return found;
      return await this.#put(group, (generation ?? "") + name, signal);
    }, { signal });
  };

  readonly recover: Program = async ({ files, blindRoot, list }) => {
    const { recoverFiles, journalPlace } = this.#code;
    const listed = async function* () {
      for (const path of await list()) {
        const { name } = splitPath(path);
        if (isJournal(name)) {
          yield { journal: journalPlace(blindRoot, FOLDER, path, false) };
        } else if (isTemporary(name)) yield { temporary: path };
      }
    };
    await recoverFiles(files, listed, { finished() {}, removed() {} });
    return "ok";
  };

  readonly read: Program = (environment) =>
    this.#read(this.#group(environment, environment.root));

  /** Opens streams, and reads them when the group has been left. */
  readonly stream: Program = async (environment) => {
    const group = this.#group(environment, environment.root);
    const streams = await group.read(async (values) => {
      const streams: (ReadableStream<Uint8Array> | undefined)[] = [];
      for (const key of this.#keys) streams.push(await values.stream(key));
      return streams;
    });
    const found: (string | undefined)[] = [];
    for (const stream of streams.toReversed()) {
      found.push(stream && generationOf(await toBytes(stream)));
    }
    return describe(found);
  };

  /** Tells generations by their lengths. */
  readonly size: Program = async (environment) => {
    const group = this.#group(environment, environment.root);
    return await group.read(async (values) => {
      const found: (string | undefined)[] = [];
      for (const key of this.#keys) {
        const size = await values.size(key);
        found.push(size?.toString());
      }
      return describe(found).replace("generation", "length");
    });
  };

  /** Reads the last part and keeps the version of the first one, of which a range is read twice later. */
  readonly version: Program = async (environment) => {
    const { files, root } = environment;
    const [first, last] = [this.#keys[0]!, this.#keys.at(-1)!];
    const group = this.#group(environment, root);
    const kept = await group.read(async (values) => {
      const index = await values.get(last);
      const version = values.version(first) as FileVersion | undefined;
      return index && version && { index: generationOf(index), version };
    });
    if (kept === undefined) return "absent";
    const { index, version } = kept;
    try {
      for (let i = 0; i < 2; i++) {
        const bytes = await this.#code.readRangeOf(
          { files, openFiles: UNLIMITED, root },
          version,
          first,
          { offset: 0, length: 4 },
          {},
        );
        if (bytes === undefined) return "changed";
        const found = describe([generationOf(bytes), index]);
        if (found.startsWith("MIX")) return found;
      }
    } finally {
      version.release();
    }
    return `generation ${index}`;
  };

  #group(environment: Environment, root: Folders): StoreGroup {
    return new this.#code.FileGroup({
      files: environment.files,
      openFiles: UNLIMITED,
      root,
      key: CHUNK,
      keys: this.#keys,
      isSynced: false,
      onRecovery: undefined,
    });
  }

  async #read(group: StoreGroup): Promise<string> {
    return await group.read(async (values) => {
      const found: (string | undefined)[] = [];
      for (const key of this.#keys) {
        const bytes = await values.get(key);
        found.push(bytes && generationOf(bytes));
      }
      return describe(found);
    });
  }

  async #put(
    group: StoreGroup,
    generation: string,
    signal: AbortSignal,
  ): Promise<string> {
    const writer = await group.write!({ signal });
    try {
      for (const key of this.#keys) {
        const text = textOf(generation, this.#isSized);
        await writer.set(key, new TextEncoder().encode(text));
      }
    } catch (error) {
      await writer.abort(error);
      throw error;
    }
    await writer.close();
    return "ok";
  }
}
