import { FileSystemStore } from "../../mod.ts";
import type { InteropArray } from "./interop_array.ts";
import { runScript } from "./python.ts";

/** Another Zarr implementation. */
export interface Peer {
  readonly name: string;
  readonly script: string;
  /** Whether the program writes groups, with consolidated metadata. */
  readonly hasGroups: boolean;
}

/** An array that a peer writes or reads. */
export type ExchangedArray = Pick<
  InteropArray,
  "path" | "metadata" | "byDefault" | "elements"
>;

export const PEERS: readonly Peer[] = [
  { name: "zarr-python", script: "with_zarr_python.py", hasGroups: true },
  { name: "TensorStore", script: "with_tensorstore.py", hasGroups: false },
];

/** The errors of a peer, by the path of the array. */
export type Refused = Readonly<Record<string, string>>;

/** A folder for the exchange with a peer, with the files that `exchange.py` lists. */
export class Exchange {
  readonly #folder: string;
  readonly #arrays: readonly ExchangedArray[];
  /** The Zarr hierarchy. */
  readonly store: FileSystemStore;

  constructor(folder: string, arrays: readonly ExchangedArray[]) {
    this.#folder = folder;
    this.#arrays = arrays;
    this.store = new FileSystemStore(`${folder}/hierarchy`);
  }

  /** Runs a peer to write all arrays. */
  async write(
    python: string,
    { script }: Peer,
    groups: readonly string[],
  ): Promise<Refused> {
    await this.#writeListing(groups);
    for (const [i, { elements }] of this.#arrays.entries()) {
      await Deno.writeFile(this.#elementsFile(i), elements);
    }
    return await this.#run(python, script, "write");
  }

  /** Runs a peer to read all arrays; returns a function for the elements of one, which rejects with the peer's error. */
  async read(
    python: string,
    { script }: Peer,
  ): Promise<(path: string) => Promise<Uint8Array>> {
    await this.#writeListing([]);
    const refused = await this.#run(python, script, "read");
    const files = new Map(
      this.#arrays.map(({ path }, i) => [path, this.#elementsFile(i)]),
    );
    return (path) =>
      path in refused
        ? Promise.reject(refused[path])
        : Deno.readFile(files.get(path)!);
  }

  async #run(
    python: string,
    script: string,
    command: string,
  ): Promise<Refused> {
    await runScript(python, script, command, this.#folder);
    const text = await Deno.readTextFile(`${this.#folder}/refused.json`);
    return JSON.parse(text);
  }

  async #writeListing(groups: readonly string[]): Promise<void> {
    await Deno.mkdir(`${this.#folder}/elements`, { recursive: true });
    const arrays = this.#arrays.map(({ path, metadata, byDefault }, i) => ({
      path,
      metadata,
      by_default: byDefault,
      file: String(i),
    }));
    await Deno.writeTextFile(
      `${this.#folder}/listing.json`,
      JSON.stringify({ groups, arrays }),
    );
  }

  #elementsFile(i: number): string {
    return `${this.#folder}/elements/${i}`;
  }
}
