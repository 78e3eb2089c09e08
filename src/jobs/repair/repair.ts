import { changeZarrJson } from "../../metadata/format_zarr_json.ts";
import { parseExactZarrJson } from "../../metadata/zarr_json.ts";
import { assertWritable } from "../../stores/assert_writable.ts";
import { write } from "../../stores/capabilities.ts";
import { recover, type Recovery } from "../../stores/recover.ts";
import type { Store, StoreOptions } from "../../stores/store.ts";
import type { Finding } from "../verify/finding.ts";
import {
  documentKey,
  type Place,
  placeOf,
} from "../hierarchy/node_location.ts";
import { readNodes } from "../hierarchy/read_nodes.ts";
import {
  assertRepairOptions,
  type RepairOptions,
  type Unrepaired,
} from "./repair_options.ts";
import { staleMetadata, withFreshMetadata } from "../verify/stale_metadata.ts";
import { REASONS } from "./unrepaired_reasons.ts";
import { verify } from "../verify/verify.ts";

/** The greatest number of findings that are kept, of those repaired and of those not. */
const MOST_FINDINGS = 1000;

/**
 * The result of {@linkcode repair}.
 *
 * @example
 * ```ts
 * import type { Repair } from "@zarr-parts/zarr-parts/jobs";
 *
 * const text = ({ repaired, unrepaired }: Repair) =>
 *   `${repaired.length} repaired, ${unrepaired.length} not`;
 * ```
 */
export interface Repair {
  /** The interrupted writes that are finished, and the temporary files that are removed. */
  readonly recovery: Recovery;
  /** The first 1,000 findings that are repaired. `onRepaired` is called with all of them. */
  readonly repaired: readonly Finding[];
  /** The first 1,000 findings that are not repaired. `onUnrepaired` is called with all of them. */
  readonly unrepaired: readonly Unrepaired[];
  /**
   * Whether no finding with the severity `"error"` remains; `null` if none remains, but
   * not everything could be decoded.
   */
  readonly isSound: boolean | null;
}

/**
 * Repairs an array, or a group with everything in it, as far as no guess is needed:
 *
 * - Chunks of several parts whose writer was killed get all of their new parts, or lose
 *   all of them, as `recover` does. Temporary files of killed programs are removed.
 * - Consolidated metadata of groups gets the documents of their nodes.
 *
 * Everything else that `verify` finds is left as it is, and returned with the reason. No
 * chunk is deleted. Programs that write meanwhile are not disturbed. A repair that was
 * killed can be run again.
 *
 * @param store A store that can write. Only `FileSystemStore` and `MemoryStore`
 * themselves, not views of them, have interrupted writes that can be finished.
 * @param path The path of the array or the group; empty for the root.
 * @param options `dryRun`: changes nothing; `deep`: decodes all chunks; `onRepaired`,
 * `onUnrepaired`, `onProgress`, `concurrency` and `signal`.
 * @returns The findings that are repaired, and those that are not.
 * @throws {MetadataError} If no node is at `path`.
 * @throws {TypeError} If `store` is not a store or is read-only, or an option is unknown.
 * @throws {RangeError} If `path` is not names joined by `/`, or an option is out of range.
 * @throws {Error} If the store cannot be read or written.
 *
 * @example
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { repair } from "@zarr-parts/zarr-parts/jobs";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const metadata = arrayMetadata({ shape: [2], dataType: "uint8", chunkShape: [2] });
 * await createArrayChunks(store, "depth", metadata);
 * const stale = { ...metadata, attributes: { unit: "km" } };
 * const group = {
 *   zarr_format: 3,
 *   node_type: "group",
 *   consolidated_metadata: { kind: "inline", must_understand: false, metadata: { depth: stale } },
 * };
 * await store.set("/zarr.json", new TextEncoder().encode(JSON.stringify(group)));
 *
 * const { repaired, unrepaired } = await repair(store);
 * assertEquals(repaired.map(({ rule }) => rule), ["consolidated-metadata-differs"]);
 * assertEquals(unrepaired, []);
 * ```
 */
export async function repair(
  store: Store,
  path = "",
  options: RepairOptions = {},
): Promise<Repair> {
  assertRepairOptions(options);
  const place = placeOf({ store, path });
  const { dryRun = false, signal, deep, codecs } = options;
  const { concurrency, onProgress } = options;
  if (!dryRun) assertWritable(store, documentKey(place, ""));
  const storeOptions: StoreOptions = signal ? { signal } : {};
  // Fails before anything is changed if there is no node.
  await readNodes(place, storeOptions, () => {});
  const recovery = await recoverPlace(place, dryRun, storeOptions);
  const results = new Results(options);
  const willBeWhole = new Set<string>([
    ...recovery.written,
    ...recovery.deleted,
  ]);
  const invalid: Finding[] = [];
  await verify(store, path, {
    ...storeOptions,
    deep,
    codecs,
    concurrency,
    onProgress,
    onFinding(finding) {
      const { rule, key } = finding;
      if (rule === "metadata-invalid") invalid.push(finding);
      // Consolidated metadata is compared again below.
      if (rule === "consolidated-metadata-differs") return;
      const isRecovered = dryRun && rule === "chunk-unfinished" &&
        willBeWhole.has(key);
      if (!isRecovered) results.leave(finding);
    },
  });
  await repairConsolidated(place, invalid, results, dryRun, storeOptions);
  return { recovery, ...results.result() };
}

const NOTHING: Recovery = {
  written: [],
  deleted: [],
  temporary: { files: 0, bytes: 0 },
};

/** Finishes interrupted writes, in stores that can. */
async function recoverPlace(
  { store, root }: Place,
  dryRun: boolean,
  options: StoreOptions,
): Promise<Recovery> {
  const canRecover =
    typeof (store as { recover?: unknown }).recover === "function";
  if (!canRecover) return NOTHING;
  return await recover(store, { path: root.slice(1), dryRun, ...options });
}

/** Puts the documents of nodes into the consolidated metadata of their groups. */
async function repairConsolidated(
  place: Place,
  invalid: readonly Finding[],
  results: Results,
  dryRun: boolean,
  options: StoreOptions,
): Promise<void> {
  const read = await readNodes(place, options, () => {});
  // The digits of all numbers are kept, also of those that JavaScript would write otherwise.
  const nodes = read.map((node) => ({
    ...node,
    document: parseExactZarrJson(node.bytes),
  }));
  const changed = withFreshMetadata(place, nodes, invalid);
  const left = staleMetadata(place, changed, invalid);
  for (const each of left) results.leave(each);
  const isLeft = new Set(left.map(({ message }) => message));
  const stale = staleMetadata(place, nodes, invalid);
  for (const [i, { path, bytes, document }] of changed.entries()) {
    if (document === nodes[i]!.document) continue;
    const key = documentKey(place, path);
    if (!dryRun) {
      const fresh = changeZarrJson(bytes, () => document);
      await write(place.store, key, fresh, options);
    }
    for (const finding of stale) {
      const isRepaired = finding.key === key && !isLeft.has(finding.message);
      if (isRepaired) results.repair(finding);
    }
  }
}

/** Collects findings that are repaired, and those that are not. */
class Results {
  readonly #options: RepairOptions;
  readonly #repaired: Finding[] = [];
  readonly #unrepaired: Unrepaired[] = [];
  #isSound: boolean | null = true;

  constructor(options: RepairOptions) {
    this.#options = options;
  }

  repair(finding: Finding): void {
    if (this.#repaired.length < MOST_FINDINGS) this.#repaired.push(finding);
    this.#options.onRepaired?.(finding);
  }

  leave(finding: Finding): void {
    const unrepaired = { finding, reason: REASONS[finding.rule] };
    if (finding.severity === "error") this.#isSound = false;
    else if (finding.rule === "chunk-undecoded") this.#isSound &&= null;
    if (this.#unrepaired.length < MOST_FINDINGS) {
      this.#unrepaired.push(unrepaired);
    }
    this.#options.onUnrepaired?.(unrepaired);
  }

  result(): Omit<Repair, "recovery"> {
    return {
      repaired: this.#repaired,
      unrepaired: this.#unrepaired,
      isSound: this.#isSound,
    };
  }
}
