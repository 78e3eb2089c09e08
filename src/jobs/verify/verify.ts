import {
  ArrayChunks,
  countInShare,
  countOfGrid,
  isInShare,
  type Share,
} from "../../arrays/mod.ts";
import { isAdopted } from "../../containers/mod.ts";
import { MetadataError } from "../../errors/mod.ts";
import {
  hasNonFinite,
  isArrayDocument,
  type NamedConfiguration,
} from "../../metadata/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import type { Store, StoreKey, StoreOptions } from "../../stores/mod.ts";
import { chunkLevel } from "../chunk_checks.ts";
import {
  ArrayKeys,
  ChunkList,
  chunksToDo,
  countToDo,
} from "../hierarchy/array_keys.ts";
import { listHierarchy } from "../hierarchy/list_hierarchy.ts";
import {
  documentKey,
  pathIn,
  type Place,
  placeOf,
} from "../hierarchy/node_location.ts";
import { type Node, readNodes } from "../hierarchy/read_nodes.ts";
import {
  assertVerifyOptions,
  type Finding,
  finding,
  Findings,
  type Rule,
  type VerifyOptions,
} from "./finding.ts";
import { brokenPaths, Leftovers } from "./leftovers.ts";
import { staleMetadata } from "./stale_metadata.ts";
import {
  type VerifiedArray,
  type VerifiedChunk,
  verifyChunk,
} from "./verify_chunk.ts";

/**
 * The result of {@linkcode verify}.
 *
 * @example
 * ```ts
 * import type { Verification } from "@zarr-parts/zarr-parts/jobs";
 *
 * const isSound = ({ findings }: Verification) =>
 *   findings.every(({ severity }) => severity !== "error");
 * ```
 */
export interface Verification {
  /** The first 1,000 findings. `onFinding` is called with all of them. */
  readonly findings: readonly Finding[];
  /** The number of findings of each kind that was found. */
  readonly counts: Readonly<Partial<Record<Rule, number>>>;
  /** The number of chunks that are present. */
  readonly chunks: number;
  /** The number of chunks of the chunk grids that are absent, which readers get as the fill value. */
  readonly absentChunks: number;
  /** The number of arrays. */
  readonly arrays: number;
  /** The number of arrays whose chunks are shards. */
  readonly sharded: number;
  /**
   * The number of stored values that are no documents, chunks or parts, and so are not
   * verified, such as text files; `undefined` if the store cannot list.
   */
  readonly otherValues: number | undefined;
  /**
   * The number of chunks and inner chunks that a deep verification did not decode, by what
   * could not be decoded, such as `codec "of another program"`.
   */
  readonly undecoded: Readonly<Record<string, number>>;
  /**
   * `true` if there is no finding with the severity `"error"`, `false` if there is one, and
   * `null` if there is none, but not everything that was to be decoded could be: damage
   * may have gone unnoticed.
   */
  readonly isSound: boolean | null;
}

/**
 * Verifies an array, or a group with everything in it: that all documents are valid, that
 * each chunk has all parts with their sizes, that checksums are right, that the inner chunks
 * of a shard lie in the shard and apart from one another, that adopted files are those
 * that were adopted, and that nothing is left over.
 *
 * The chunks are those that the store lists. If it cannot list, each chunk of the grid is
 * asked for, and nothing that is left over is found.
 *
 * @param store The store.
 * @param path The path of the array or the group; empty for the root.
 * @param options `deep`: decodes all chunks; `onFinding`, `onProgress`, `share`,
 * `keepGoing`, `concurrency` and `signal`.
 * @returns The findings, and the numbers of chunks and arrays.
 * @throws {MetadataError} If no node is at `path`.
 * @throws {TypeError} If `store` is not a store, or an option is unknown.
 * @throws {RangeError} If `path` is not names joined by `/`, or an option is out of range.
 * @throws {Error} If the store cannot be read.
 *
 * @example
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { verify } from "@zarr-parts/zarr-parts/jobs";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const chunks = await createArrayChunks(
 *   store,
 *   "",
 *   arrayMetadata({ shape: [4], dataType: "uint8", chunkShape: [2], parts: [".head:1", ""] }),
 * );
 * await chunks.set([0], new Uint8Array([1, 2]));
 * await chunks.set([1], new Uint8Array([3, 4]));
 * assertEquals((await verify(store)).isSound, true);
 *
 * await store.delete("/c/1.head");
 * const { findings } = await verify(store);
 * assertEquals(findings.map(({ rule, key }) => [rule, key]), [["part-missing", "/c/1"]]);
 * ```
 */
export async function verify(
  store: Store,
  path = "",
  options: VerifyOptions = {},
): Promise<Verification> {
  assertVerifyOptions(options);
  const place = placeOf({ store, path });
  const { signal, share, deep = false, keepGoing = false } = options;
  const storeOptions: StoreOptions = signal ? { signal } : {};
  const findings = new Findings(options);
  const invalid: Finding[] = [];
  const messageOf = (error: unknown) =>
    error instanceof Error ? error.message : String(error);
  const onUnreadable = (key: StoreKey, error: unknown) => {
    invalid.push(finding("unreadable", key, messageOf(error)));
  };
  const nodes = await readNodes(place, storeOptions, (key, error) => {
    invalid.push(finding("metadata-invalid", key, error.message));
  }, keepGoing ? onUnreadable : undefined);
  for (const { path, bytes } of nodes) {
    if (!hasNonFinite(bytes)) continue;
    const message =
      "The document holds NaN or an infinity, which JSON does not have, so that some programs cannot read it; expected a string";
    findings.addShared(
      finding("metadata-not-json", documentKey(place, path), message),
    );
  }
  const arrays = openArrays(place, nodes, invalid);
  const otherValues = typeof store.list === "function"
    ? await listAll(place, nodes, arrays, invalid, findings, options)
    : undefined;
  for (const each of [...invalid, ...staleMetadata(place, nodes, invalid)]) {
    findings.addShared(each);
  }

  let [done, chunks] = [0, 0];
  const total = arrays.reduce((sum, each) => sum + countToDo(each, share), 0);
  await runConcurrently(
    itemsOf(arrays, options),
    options.concurrency ?? 4,
    async ({ array, coordinates }, signal) => {
      const found = await verifyChunk(
        array,
        coordinates,
        deep,
        options.codecs,
        { signal },
      ).catch((error): VerifiedChunk => {
        if (!keepGoing || signal.aborted) throw error;
        const key = array.chunks.key(coordinates);
        const failed = finding(
          "unreadable",
          key,
          messageOf(error),
          coordinates,
        );
        return { isPresent: false, findings: [failed], undecoded: new Map() };
      });
      if (found.isPresent) chunks++;
      for (const [unknown, count] of found.undecoded) {
        findings.addUndecoded(
          documentKey(place, array.path),
          array.level.shards ? "inner chunk" : "chunk",
          unknown,
          count,
        );
      }
      for (const each of found.findings) findings.add(each);
      options.onProgress?.({ done: ++done, total });
    },
    signal,
  );
  findings.finish();
  const grid = arrays.reduce((sum, array) => sum + countOf(array, share), 0);
  return {
    ...findings.result(),
    chunks,
    absentChunks: grid - chunks,
    arrays: arrays.length,
    sharded: arrays.filter(({ chunks }) => chunks.innerChunkShape !== undefined)
      .length,
    otherValues,
  };
}

/** The number of chunks of an array's grid, or of those in a share. */
function countOf(
  { path, gridShape }: OpenedArray,
  share: Share | undefined,
): number {
  const count = countOfGrid(gridShape);
  return share === undefined ? count : countInShare(share, path, count);
}

/** An array that is verified. */
interface OpenedArray extends VerifiedArray {
  readonly path: string;
  readonly gridShape: readonly number[];
  readonly keys: ArrayKeys;
  readonly stored: ChunkList | undefined;
}

function* itemsOf(
  arrays: readonly OpenedArray[],
  { share }: VerifyOptions,
): Generator<{ array: OpenedArray; coordinates: number[] }> {
  for (const array of arrays) {
    for (const coordinates of chunksToDo(array, share)) {
      yield { array, coordinates };
    }
  }
}

/** Opens the arrays, and adds a finding for each that cannot be opened. */
function openArrays(
  place: Place,
  nodes: readonly Node[],
  invalid: Finding[],
): OpenedArray[] {
  const { store } = place;
  return nodes.flatMap(({ path, document }) => {
    if (!isArrayDocument(document)) return [];
    const key = documentKey(place, path);
    try {
      const chunks = new ArrayChunks(store, pathIn(place, path), document);
      const { metadata, chunkShape, gridShape } = chunks;
      const { data_type, codecs } = metadata;
      const dataType = elementType(data_type);
      const root = key.slice(0, -"/zarr.json".length);
      const level = chunkLevel(codecs ?? [], chunkShape, dataType);
      const keys = new ArrayKeys(metadata, root);
      return [{
        path,
        store,
        chunks,
        gridShape,
        level,
        keys,
        isAdopted: level.shards?.after === 0 &&
          isAdopted(keys.storage, level.shards.layout),
        stored: typeof store.list === "function"
          ? new ChunkList(gridShape.length)
          : undefined,
      }];
    } catch (error) {
      if (!(error instanceof MetadataError)) throw error;
      invalid.push(finding("metadata-invalid", key, error.message));
      return [];
    }
  });
}

/** The name of a data type; the name of one of the same size for those of NumPy. */
function elementType(dataType: string | NamedConfiguration): string {
  const name = typeof dataType === "string" ? dataType : dataType.name;
  return /^numpy\.(?:datetime|timedelta)64$/.test(name) ? "int64" : name;
}

/**
 * Lists the store: fills the lists of chunks, and finds what is left over.
 *
 * @returns The number of values that are no documents, chunks or parts.
 */
async function listAll(
  place: Place,
  nodes: readonly Node[],
  arrays: readonly OpenedArray[],
  invalid: readonly Finding[],
  findings: Findings,
  { share, signal }: VerifyOptions,
): Promise<number> {
  const byPath = new Map(arrays.map((array) => [array.path, array]));
  const keys = new Map(arrays.map(({ path, keys }) => [path, keys]));
  const valid = new Set(nodes.map(({ path }) => path));
  const broken = brokenPaths(place, invalid);
  const leftovers = new Leftovers(
    place,
    byPath,
    { valid, broken },
    (found) => findings.addShared(found),
  );
  const brokenDocuments = new Set(invalid.map(({ key }) => key));
  let count = 0;
  const isCounted = (key: StoreKey) =>
    !brokenDocuments.has(key) && (share === undefined || isInShare(share, key));
  await listHierarchy(place, nodes, keys, {
    chunk: (path, coordinates) => byPath.get(path)!.stored!.push(coordinates),
    stray(key, path) {
      if (isCounted(key)) count++;
      leftovers.stray(key, path);
    },
    file(key, path) {
      if (isCounted(key)) count++;
      if (!brokenDocuments.has(key)) leftovers.file(key, path);
    },
  }, signal ? { signal } : {});
  leftovers.finish();
  return count;
}
