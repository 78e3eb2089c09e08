import { ArrayChunks, isInShare, type Share } from "../../arrays/mod.ts";
import { wrongEntries, ZipStore } from "../../zip/mod.ts";
import { isAdopted } from "../../adopt/mod.ts";
import { hasNonFinite } from "../../metadata/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import {
  backendOf,
  canRecover,
  mayBePart,
  recover,
  type RecoverOptions,
  type Recovery,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../../stores/mod.ts";
import { StoredChunks } from "../stored_chunks.ts";
import {
  ArrayKeys,
  documentKey,
  isInvalid,
  keysLeftOut,
  listHierarchy,
  MARKER,
  type Node,
  pathIn,
  type Place,
  placeOf,
  readNodes,
  rootIn,
  type SelectedNodes,
} from "../../hierarchy/mod.ts";
import { type ChunkDecoding, levelOf, withDecoding } from "./chunk_decoding.ts";
import { staleGroups } from "./consolidated_metadata.ts";
import {
  assertVerifyOptions,
  type Finding,
  finding,
  Findings,
  type Rule,
  type VerifyOptions,
} from "./findings.ts";
import { Leftovers } from "./leftovers.ts";
import {
  ChunkVerification,
  type VerifiedArray,
  type VerifiedChunk,
} from "./verify_chunk.ts";
import { DamageError, sentence } from "../../errors/mod.ts";

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
 * that were adopted, and that nothing is left over. Nodes of Zarr v2 are verified as `v2View`
 * shows them.
 *
 * Of a `ZipStore`, the archive is verified too: that its entries can be read and, with
 * `deep`, that they have the CRC-32 that its directory says.
 *
 * The chunks are those that the store lists. If it cannot list, each chunk of the grid is
 * asked for, and nothing that is left over is found.
 *
 * @param store The store.
 * @param path The path of the array or the group; empty for the root.
 * @param options `deep`: decodes all chunks; `threads`, `codecs`, `onFinding`, `onProgress`, `share`,
 * `keepGoing`, `only`, `exclude`, `concurrency` and `signal`.
 * @returns The findings, and the numbers of chunks and arrays.
 * @throws {MetadataError} If no node is at `path`.
 * @throws {TypeError} If `store` is not a store, or an option is unknown.
 * @throws {RangeError} If `path` is not names joined by `/`, an option is out of range, or a
 * glob matches no node.
 * @throws {Error} If the store cannot be read, or a thread ends before it has decoded its
 * chunks.
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
  const { share } = options;
  const findings = new Findings(options);
  if (store instanceof ZipStore) await verifyArchive(store, findings, options);
  const { arrays, otherValues } = await verifyNodes(place, findings, options);
  if (canRecover(store) && (share === undefined || share.index === 0)) {
    const { signal } = options;
    const keys = arrays.map(({ keys }) => keys);
    const dry = { dryRun: true, ...signal && { signal } };
    const problems = await recoverPlace(place, keys, dry).then(
      () => [],
      (e) => {
        signal?.throwIfAborted();
        return journalProblems(e) ?? Promise.reject(e);
      },
    );
    for (const message of problems) {
      const key = documentKey(place, "");
      findings.add(finding("journal-unreadable", key, message));
    }
  }
  const verifyAll = (decoding?: ChunkDecoding) =>
    verifyChunks(arrays, findings, options, decoding);
  const chunks = options.deep
    ? await withDecoding(options, verifyAll)
    : await verifyAll();
  findings.finish();
  const chunksOfGrids = arrays.reduce(
    (sum, { path, gridShape }) =>
      sum + new StoredChunks(path, gridShape, false).countOf(share),
    0,
  );
  return {
    ...findings.result(),
    chunks,
    absentChunks: chunksOfGrids - chunks,
    arrays: arrays.length,
    sharded: arrays.filter(({ chunks }) => chunks.innerChunkShape !== undefined)
      .length,
    otherValues,
  };
}

/** The messages of an error of {@linkcode recoverPlace} if all are about journals that cannot be read, or that name other objects than those of their chunks. */
export function journalProblems(error: unknown): string[] | undefined {
  const errors = error instanceof AggregateError ? error.errors : [error];
  const messages = errors.map(messageOf);
  const areAll = messages.every((text) => text.includes("journal"));
  return areAll ? messages : undefined;
}

/**
 * Finishes interrupted writes. Journals that name other objects than those of their chunks are
 * not followed, since they may have come with the files of somebody else. An unfinished
 * conversion in place renames objects of chunks, so that they have names of either layout.
 */
export async function recoverPlace(
  { store, root }: Place,
  arrays: readonly ArrayKeys[],
  options: RecoverOptions,
): Promise<Recovery> {
  const { signal } = options;
  const converted: string[] = [];
  for (const folder of foldersAround(arrays.map((keys) => keys.root))) {
    const marker = `${folder}${MARKER}` as StoreKey;
    const size = await backendOf(store).size(marker, signal ? { signal } : {});
    if (size !== undefined) converted.push(`${folder}/`);
  }
  const isPart = (chunk: StoreKey, key: StoreKey) => {
    const array = arrays.find(({ root }) => chunk.startsWith(`${root}/`));
    return array && !converted.some((folder) => chunk.startsWith(folder))
      ? array.chunkOf(key) === chunk
      : mayBePart(chunk, key);
  };
  return await recover(store, { path: root.slice(1), ...options, isPart });
}

/** Folders, and all folders around them. */
function foldersAround(folders: readonly string[]): Set<string> {
  const all = new Set([""]);
  for (let folder of folders) {
    while (!all.has(folder)) {
      all.add(folder);
      folder = folder.slice(0, folder.lastIndexOf("/"));
    }
  }
  return all;
}

/** Verifies the documents, opens the arrays, and lists the store if it can. */
async function verifyNodes(
  place: Place,
  findings: Findings,
  options: VerifyOptions,
): Promise<
  { arrays: readonly OpenedArray[]; otherValues: number | undefined }
> {
  const { keepGoing = false } = options;
  const { nodes, failed, selected } = await readNodes(place, options, {
    isLeftOut: (error) => keepGoing || isInvalid(error),
  });
  for (const { path, bytes, v2Documents } of nodes) {
    if (!hasNonFinite(bytes) || v2Documents.length > 0) continue;
    const message =
      "The document holds NaN or an infinity, which JSON does not have, so that some programs cannot read it; expected a string";
    findings.addShared(
      finding("metadata-not-json", documentKey(place, path), message),
    );
  }
  const arrays = nodes.flatMap((node) => openArray(place, node) ?? []);
  const broken: BrokenDocuments = new Map();
  for (const { path } of failed) {
    const key = documentKey(place, path);
    broken.set(key, await brokenKey(place, key, options));
  }
  const otherValues = typeof place.store.list === "function"
    ? await listAll(place, nodes, arrays, broken, selected, findings, options)
    : undefined;
  for (const { path, error } of failed) {
    const rule = isInvalid(error) ? "metadata-invalid" : "unreadable";
    const key = broken.get(documentKey(place, path))!;
    findings.addShared(finding(rule, key, messageOf(error)));
  }
  const reported = new Set<string>(broken.keys());
  for (const path of selected.excluded) reported.add(documentKey(place, path));
  for (const group of staleGroups(place, nodes, reported)) {
    for (const { finding } of group.nodes) findings.addShared(finding);
  }
  return { arrays, otherValues };
}

/** The keys of documents that are not valid, by the keys of the `zarr.json` of their nodes. */
type BrokenDocuments = Map<StoreKey, StoreKey>;

/** The key of the document of Zarr v2 of a node that is not valid, or of its `zarr.json`. */
async function brokenKey(
  { store }: Place,
  document: StoreKey,
  options: StoreOptions,
): Promise<StoreKey> {
  const folder = document.slice(0, -"/zarr.json".length);
  for (const name of ["zarr.json", ".zarray", ".zgroup"]) {
    const key = `${folder}/${name}` as StoreKey;
    try {
      if (await backendOf(store).size(key, options) !== undefined) return key;
    } catch {
      options.signal?.throwIfAborted();
      return document; // The store fails to read the node.
    }
  }
  return document;
}

/** Verifies the chunks of the arrays, or those of a share. Returns the number of present ones. */
async function verifyChunks(
  arrays: readonly OpenedArray[],
  findings: Findings,
  options: VerifyOptions,
  decoding: ChunkDecoding | undefined,
): Promise<number> {
  const { keepGoing = false, share } = options;
  const total = arrays.reduce(
    (sum, { stored }) => sum + stored.countOf(share),
    0,
  );
  let [done, present] = [0, 0];
  // Findings are added in the order of the chunks, whichever chunk is verified first.
  let added: Promise<unknown> = Promise.resolve();
  await runConcurrently(
    itemsOf(arrays, share),
    options.concurrency ?? 4,
    async ({ array, coordinates }, signal) => {
      const chunk = new ChunkVerification(array, coordinates, decoding, signal);
      const verified = chunk.run()
        .catch((error): VerifiedChunk => {
          const isFatal = !keepGoing || signal.aborted ||
            error === decoding?.failure;
          if (isFatal) throw error;
          const key = array.chunks.key(coordinates);
          const message = messageOf(error);
          return {
            isPresent: false,
            findings: [finding("unreadable", key, message, coordinates)],
            undecoded: new Map(),
          };
        });
      added = Promise.all([verified, added]).then(([chunk]) => {
        const unit = array.level.shards ? "inner chunk" : "chunk";
        for (const [unknown, count] of chunk.undecoded) {
          findings.addUndecoded(array.document, unit, unknown, count);
        }
        for (const each of chunk.findings) findings.add(each);
      });
      added.catch(() => {}); // Thrown below, unless the chunk itself has failed.
      if ((await verified).isPresent) present++;
      options.onProgress?.({ done: ++done, total });
    },
    options.signal,
  );
  await added;
  return present;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An array that is verified. */
interface OpenedArray extends VerifiedArray {
  readonly path: string;
  /** The key of the document. */
  readonly document: StoreKey;
  readonly gridShape: readonly number[];
  readonly keys: ArrayKeys;
  readonly stored: StoredChunks;
}

function* itemsOf(
  arrays: readonly OpenedArray[],
  share: Share | undefined,
): Generator<{ array: OpenedArray; coordinates: number[] }> {
  for (const array of arrays) {
    for (const coordinates of array.stored.of(share)) {
      yield { array, coordinates };
    }
  }
}

/** Opens the array of a node; `undefined` for a group. */
function openArray(
  place: Place,
  { path, array, v2Documents }: Node,
): OpenedArray | undefined {
  if (array === undefined) return undefined;
  const { store } = place;
  const { gridShape, parts } = array;
  const level = levelOf(array);
  const canList = typeof store.list === "function";
  return {
    ...{ path, store, gridShape, level },
    document: v2Documents[0] ?? documentKey(place, path),
    chunks: new ArrayChunks(store, pathIn(place, path), array),
    keys: new ArrayKeys(array, rootIn(place, path)),
    isAdopted: level.shards?.checksumsSize === 0 &&
      isAdopted(parts, level.shards.layout),
    stored: new StoredChunks(path, gridShape, canList),
  };
}

/**
 * Lists the store: fills the lists of chunks, and adds findings about other values.
 *
 * @param selected The nodes that are verified.
 * @returns The number of values that are no documents, chunks or parts.
 */
async function listAll(
  place: Place,
  nodes: readonly Node[],
  arrays: readonly OpenedArray[],
  broken: BrokenDocuments,
  selected: SelectedNodes,
  findings: Findings,
  options: VerifyOptions,
): Promise<number> {
  const { share } = options;
  const byPath = new Map(arrays.map((array) => [array.path, array]));
  const valid = new Set(nodes.map(({ path }) => path));
  const leftovers = new Leftovers(
    place,
    byPath,
    { valid, broken },
    (found) => findings.addShared(found),
  );
  let count = 0;
  const documents = new Set(broken.values());
  const isCounted = (key: StoreKey) =>
    !documents.has(key) && (share === undefined || isInShare(share, key));
  await listHierarchy(place, nodes, {
    chunk: (path, coordinates) => byPath.get(path)!.stored.add(coordinates),
    stray(key, path) {
      if (isCounted(key)) count++;
      leftovers.stray(key, path);
    },
    file(key, path) {
      if (isCounted(key)) count++;
      if (!documents.has(key)) leftovers.file(key, path);
    },
    isIgnored: keysLeftOut(place, valid, selected),
  }, options);
  leftovers.finish();
  return count;
}

/**
 * Verifies a zip archive as such: its entries can be read, and it is as it should be. If the
 * verification is deep, all entries are compared with their CRC-32.
 */
async function verifyArchive(
  archive: ZipStore,
  findings: Findings,
  options: VerifyOptions,
): Promise<void> {
  const { signal, share, deep = false, keepGoing = false, concurrency = 4 } =
    options;
  const found = await archive.describe(options);
  const { key, deflated, unreadable, unnamed, replaced, problems } = found;
  const name = sentence`Archive ${key}`;
  const add = (rule: Rule, text: string) =>
    findings.addShared(finding(rule, key, `${name} ${text}`));
  const addEntries = (rule: Rule, count: number, text: string) => {
    if (count > 0) {
      add(rule, `has ${count} ${count === 1 ? "entry" : "entries"} ${text}`);
    }
  };
  addEntries(
    "archive-entry",
    unreadable,
    "encrypted or compressed by a method that is not supported: unpack it, and pack it by zip -0",
  );
  for (const problem of problems) add("archive-layout", problem);
  addEntries(
    "archive-leftovers",
    replaced,
    "that later ones of the same name replace, and which take space: unpack it, and pack it by zip -0",
  );
  addEntries(
    "archive-leftovers",
    unnamed,
    "whose names are no keys, and which nobody reads",
  );
  addEntries(
    "archive-deflated",
    deflated,
    "deflated, of which a part is read from the start on: zip -0 packs entries as they are",
  );
  const wrong = wrongEntries(archive, {
    ...signal && { signal },
    isSelected: (name) => share === undefined || isInShare(share, `/${name}`),
    withBytes: false,
  });
  for await (const { key, message } of wrong) {
    findings.add(finding("archive-entry", key, message));
  }
  if (!deep) return;
  await runConcurrently(
    archive.list("/", options),
    concurrency,
    async (key, signal) => {
      if (share !== undefined && !isInShare(share, key)) return;
      try {
        const stream = await archive.stream(key, { signal });
        await stream?.pipeTo(new WritableStream());
      } catch (error) {
        const isDamage = error instanceof DamageError;
        if (!isDamage && (!keepGoing || signal.aborted)) throw error;
        const rule = isDamage ? "archive-entry" : "unreadable";
        findings.add(finding(rule, key, (error as Error).message));
      }
    },
    signal,
  );
}
