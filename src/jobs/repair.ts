import {
  BOOLEAN,
  checkOptions,
  FUNCTION,
  type OptionRules,
} from "../errors/mod.ts";
import { changeZarrJson, parseExactZarrJson } from "../metadata/mod.ts";
import {
  assertWritable,
  canRecover,
  type Recovery,
  type Store,
  write,
} from "../stores/mod.ts";
import {
  ArrayKeys,
  documentKey,
  isInvalid,
  type Node,
  type Place,
  placeOf,
  readNodes,
  rootIn,
} from "../hierarchy/mod.ts";
import { staleGroups } from "./verify/consolidated_metadata.ts";
import {
  type Finding,
  MOST_FINDINGS,
  type Rule,
  VERIFY_OPTIONS,
  type VerifyOptions,
} from "./verify/findings.ts";
import { journalProblems, recoverPlace, verify } from "./verify/verify.ts";

/**
 * Repairs an array, or a group with everything in it, as far as no guess is needed:
 *
 * - Chunks of several parts whose writer was killed get all of their new parts, or lose
 *   all of them, as `recover` does. Temporary files of killed programs are removed.
 * - Consolidated metadata of groups gets the documents of their nodes.
 *
 * Everything else that `verify` finds is left as it is, and returned with the reason. No
 * chunk is deleted. Programs that write at the same time are not disturbed. A repair that was
 * killed can be run again.
 *
 * @param store A store that can write. Interrupted writes are finished in a
 * `FileSystemStore` and in an `S3Store`, and not in views of them.
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
  checkOptions(options, OPTIONS, "repair");
  const place = placeOf({ store, path });
  const { dryRun = false, onRepaired, onUnrepaired, ...verified } = options;
  if (!dryRun) assertWritable(store, documentKey(place, ""));
  // Fails before anything is changed if there is no node.
  const { nodes } = await readNodes(place, options, { isLeftOut: isInvalid });
  const recovery = await finishWrites(place, nodes, options);
  const repaired: Finding[] = [];
  const unrepaired: Unrepaired[] = [];
  let isSound: boolean | null = true;
  const leave = (finding: Finding) => {
    const left = { finding, reason: reasonOf(finding.rule) };
    if (finding.severity === "error") isSound = false;
    else if (finding.rule === "chunk-undecoded") isSound &&= null;
    if (unrepaired.length < MOST_FINDINGS) unrepaired.push(left);
    onUnrepaired?.(left);
  };
  const willBeWhole = new Set<string>([
    ...recovery.written,
    ...recovery.deleted,
  ]);
  const invalid = new Set<string>();
  await verify(store, path, {
    ...verified,
    onFinding(finding) {
      const { rule, key } = finding;
      if (rule === "metadata-invalid") invalid.add(key);
      // Consolidated metadata is compared again below.
      if (rule === "consolidated-metadata-differs") return;
      const isRecovered = dryRun && rule === "chunk-unfinished" &&
        willBeWhole.has(key);
      if (!isRecovered) leave(finding);
    },
  });
  const stale = repairConsolidated(place, invalid, options);
  for await (const { finding, isRepaired } of stale) {
    if (!isRepaired) leave(finding);
    else {
      if (repaired.length < MOST_FINDINGS) repaired.push(finding);
      onRepaired?.(finding);
    }
  }
  return { recovery, repaired, unrepaired, isSound };
}

/**
 * Options of {@linkcode repair}.
 *
 * @example What would be done
 * ```ts
 * import type { RepairOptions } from "@zarr-parts/zarr-parts/jobs";
 *
 * const options: RepairOptions = {
 *   dryRun: true,
 *   onUnrepaired: ({ finding, reason }) => console.error(`${finding.message}: ${reason}`),
 * };
 * ```
 */
export interface RepairOptions extends
  Pick<
    VerifyOptions,
    "deep" | "codecs" | "concurrency" | "threads" | "onProgress" | "signal"
  > {
  /** Whether nothing is changed: the result then says what would be repaired. */
  readonly dryRun?: boolean | undefined;
  /** Called with each finding that is repaired. */
  readonly onRepaired?: ((finding: Finding) => void) | undefined;
  /** Called with each finding that is not repaired. */
  readonly onUnrepaired?: ((unrepaired: Unrepaired) => void) | undefined;
}

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
 * Something that {@linkcode repair} leaves as it is.
 *
 * @example
 * ```ts
 * import type { Unrepaired } from "@zarr-parts/zarr-parts/jobs";
 *
 * const line = ({ finding, reason }: Unrepaired) => `${finding.message}: ${reason}`;
 * ```
 */
export interface Unrepaired {
  /** The finding of `verify`. */
  readonly finding: Finding;
  /** Why it is not repaired, and what to do. */
  readonly reason: string;
}

const { deep, codecs, concurrency, threads, onProgress, signal } =
  VERIFY_OPTIONS;
const OPTIONS: OptionRules<RepairOptions> = {
  dryRun: BOOLEAN,
  ...{ deep, codecs, concurrency, threads, onProgress, signal },
  onRepaired: FUNCTION,
  onUnrepaired: FUNCTION,
};

const NOTHING: Recovery = {
  written: [],
  deleted: [],
  temporary: { files: 0, bytes: 0 },
};

/** Finishes interrupted writes, in stores that can. The verification finds journals that cannot be read. */
async function finishWrites(
  place: Place,
  nodes: readonly Node[],
  { dryRun = false, signal }: RepairOptions,
): Promise<Recovery> {
  if (!canRecover(place.store)) return NOTHING;
  const options = { dryRun, ...signal && { signal } };
  try {
    const arrays = nodes.flatMap(({ path, array }) =>
      array ? [new ArrayKeys(array, rootIn(place, path))] : []
    );
    return await recoverPlace(place, arrays, options);
  } catch (error) {
    if (!journalProblems(error)) throw error;
    return NOTHING;
  }
}

/** Puts the documents of nodes into the consolidated metadata of their groups. */
async function* repairConsolidated(
  place: Place,
  invalid: ReadonlySet<string>,
  options: RepairOptions,
): AsyncGenerator<{ finding: Finding; isRepaired: boolean }> {
  const read = await readNodes(place, options, { isLeftOut: isInvalid });
  // Numbers keep their digits, also those that JavaScript would format otherwise.
  const nodes = read.nodes.map((node) => ({
    ...node,
    document: parseExactZarrJson(node.bytes),
  }));
  for (
    const { group, nodes: stale, fresh } of staleGroups(place, nodes, invalid)
  ) {
    const isV2 = group.v2Documents.length > 0;
    if (!isV2 && !options.dryRun && fresh !== group.document) {
      const bytes = changeZarrJson(group.bytes, () => fresh);
      await write(place.store, documentKey(place, group.path), bytes, options);
    }
    for (const { finding, hasDocument } of stale) {
      yield { finding, isRepaired: hasDocument && !isV2 };
    }
  }
}

const LEFTOVER = "it may still be wanted; remove it if it is not";

/**
 * For each rule: why a finding is not repaired, and what to do. Rules that are not listed are
 * about the bytes of chunks.
 */
const REASONS: Partial<Record<Rule, string>> = {
  "metadata-invalid":
    "its right contents are not known; restore the document from a copy",
  "unreadable": "the store failed to read it; try again",
  "metadata-not-json":
    "only you know what the programs expect that read it; write a string instead",
  "v2-metadata":
    "programs of Zarr v2 may need it; remove it if the chunks were moved",
  "consolidated-metadata-differs":
    "the node has no valid document of its own; restore that document, or consolidate the metadata anew",
  "conversion-unfinished":
    'only the conversion knows what is missing; run it again, with the option "resume" unless it is one in place',
  "journal-unreadable":
    "only its writer knows what it was to change; remove it once you have looked at the chunk, and write the chunk again",
  "chunk-unfinished":
    "a program is writing the chunk; repair it again when nobody writes",
  "chunk-undecoded":
    "nobody looked at them; verify them by a program that knows the codec",
  "adopted-file-changed": "only you know whether the file is right",
  "adopted-file-record":
    'the file may have been replaced; adopt the files again with the option "overwrite"',
  "values-unexplained":
    "only the document tells what they are; restore the document from a copy",
  "chunk-misplaced":
    "only you know which key is right; move the value, or correct the document",
  "chunk-outside-grid": LEFTOVER,
  "stray-object": LEFTOVER,
  "unknown-file": LEFTOVER,
};

function reasonOf(rule: Rule): string {
  if (rule.startsWith("archive-")) {
    return "zip archives are only read; pack the files anew";
  }
  return REASONS[rule] ??
    "its right bytes are stored nowhere else; restore the chunk from a copy of the array, write it again, or adopt its file again";
}
