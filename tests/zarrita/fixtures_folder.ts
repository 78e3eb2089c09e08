import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { FileSystemStore, MemoryStore } from "../../mod.ts";
import { withZarrParts } from "../../zarrita.ts";
import {
  type AnyStore,
  assertRefusesSizes,
  type EncodedArray,
  encodedArray,
  inBothStores,
  storeAgain,
  storeGroups,
} from "./fixtures_again.ts";
import {
  assertReadsAs,
  type Reference,
  referenceOf,
} from "./fixtures_compare.ts";
import { type FoundNode, nodesIn } from "./fixtures_found.ts";
import { direct } from "./fixtures_open.ts";
import { assertStored } from "./fixtures_stored.ts";
import { KEY_ENCODINGS, transformersFor, type Way } from "./fixtures_ways.ts";

/** How much is tried. */
export interface Thoroughness {
  /** Whether every array is stored with all pairs of keys and parts, in files and in memory. */
  readonly everyPair: boolean;
  /** How many random selections are read of an array in one way. */
  readonly selections: number;
}

/** Counts of the comparisons. */
export class Tally {
  arrays = 0;
  configurations = 0;
  comparisons = 0;
  refusals = 0;
  /** Arrays that zarrita alone cannot read, and why. */
  readonly otherwise: Map<string, string> = new Map();
}

/** Compares all arrays in a folder, as they are and stored again, with the results of zarrita alone. */
export class FolderComparison {
  readonly tally: Tally = new Tally();
  readonly #folder: string;
  readonly #thoroughness: Thoroughness;

  constructor(folder: string, thoroughness: Thoroughness) {
    this.#folder = folder;
    this.#thoroughness = thoroughness;
  }

  /** Compares one array; `turn` selects other pairs for each array if not every pair is tried. */
  async compareArray(node: FoundNode, turn: number): Promise<Reference> {
    const reference = await referenceOf(this.#folder, node);
    this.#count(node, reference);
    await this.#compareAsItIs(node, reference);
    if (node.kind === "v2 array") return reference;
    const array = await encodedArray(this.#folder, node);
    for (const [i, way] of this.#waysFor(array, turn).entries()) {
      await this.#inStores(i + turn, async (store) => {
        await storeAgain(array, store, way);
        await assertStored(store, array, way);
        await this.#compare(withZarrParts(store), node, reference);
      });
    }
    await this.#inStores(turn, async (store) => {
      this.tally.refusals += await assertRefusesSizes(array, store);
    });
    return reference;
  }

  /** A group with consolidated metadata, and every array that it knows. */
  async compareConsolidated(group: FoundNode): Promise<void> {
    const folder = `${this.#folder}/${group.path}`;
    const nodes = (await nodesIn(folder)).filter(({ kind }) =>
      kind !== "v2 array"
    );
    const arrays = nodes.filter(({ kind }) => kind === "array");
    const consolidated = (store: zarr.AsyncReadable) =>
      zarr.withConsolidatedMetadata(store, { format: "v3" });
    const expected = await consolidated(direct(folder));
    await inBothStores(async (stored) => {
      for (const [turn, node] of arrays.entries()) {
        const array = await encodedArray(folder, node);
        const ways = this.#waysFor(array, turn);
        await storeAgain(array, stored, ways[7 * turn % ways.length]!);
      }
      await storeGroups(nodes, stored);
      const store = await consolidated(withZarrParts(stored));
      assertEquals(sorted(store.contents()), sorted(expected.contents()));
      for (const node of arrays) {
        const reference = await referenceOf(folder, node, consolidated);
        await this.#compare(store, node, reference);
      }
    });
  }

  async #compareAsItIs(node: FoundNode, reference: Reference): Promise<void> {
    for (
      const store of [
        withZarrParts(direct(this.#folder)),
        await zarr.extendStore(direct(this.#folder), withZarrParts),
        withZarrParts(new FileSystemStore(this.#folder)),
      ]
    ) await this.#compare(store, node, reference);
  }

  async #compare(
    store: zarr.AsyncReadable,
    node: FoundNode,
    reference: Reference,
  ): Promise<void> {
    const { selections } = this.#thoroughness;
    this.tally.configurations++;
    this.tally.comparisons += await assertReadsAs(
      store,
      node,
      reference,
      selections,
    );
  }

  /** Runs in memory, and in files too; not always those where not every pair is tried. */
  async #inStores(turn: number, run: (store: AnyStore) => Promise<void>) {
    const { everyPair } = this.#thoroughness;
    if (everyPair || turn % 5 === 0) await inBothStores(run);
    else await run(new MemoryStore());
  }

  #waysFor({ lengths }: EncodedArray, turn: number): Way[] {
    return Object.values(transformersFor(lengths)).flatMap((parts, i) => {
      const storage_transformers = parts && { storage_transformers: parts };
      const ways = KEY_ENCODINGS.map((chunk_key_encoding) => ({
        chunk_key_encoding,
        ...storage_transformers,
      }));
      if (this.#thoroughness.everyPair) return ways;
      const draw = i + turn;
      return draw % 3 === 0 ? [ways[draw / 3 % ways.length]!] : [];
    });
  }

  #count({ path }: FoundNode, { beyond, whole }: Reference): void {
    this.tally.arrays++;
    const why = "error" in whole ? String(whole.error) : beyond;
    if (why) this.tally.otherwise.set(path, why);
  }
}

function sorted(nodes: { path: string; kind: string }[]): string[] {
  return nodes.map(({ path, kind }) => `${path} ${kind}`).sort();
}
