import { keyProblem, type StoreKey } from "../stores/mod.ts";
import { type Archive, isDeflated, obstacleOf } from "./archive.ts";
import type { EntryTable } from "./entry_table.ts";

/**
 * The properties of a zip archive that `ZipStore.describe` returns.
 *
 * @example
 * ```ts
 * import type { ZipDescription } from "@zarr-parts/zarr-parts/zip";
 *
 * const isSlow = ({ deflated }: ZipDescription) => deflated > 0;
 * ```
 */
export interface ZipDescription {
  /** The key of the archive. */
  readonly key: StoreKey;
  /** Its length in bytes. */
  readonly size: number;
  /** A text that an archive with other entries does not have: a digest of the directory. */
  readonly digest: string;
  /** The path of the folder in the archive that is shown; empty for the root of the archive. */
  readonly folder: string;
  /** The folders at the root of the archive that hold a node, if no node is at the root. */
  readonly nodes: readonly string[];
  /** The number of entries, without folders and without entries that others replace. */
  readonly entries: number;
  /** How many of the entries are deflated. */
  readonly deflated: number;
  /** How many cannot be read, since they are encrypted or compressed by another method. */
  readonly unreadable: number;
  /** How many are not shown, since their names are no keys. */
  readonly unnamed: number;
  /** The number of further entries that are replaced by later ones of the same name. */
  readonly replaced: number;
  /** What contradicts RFC-9 of NGFF, if the archive ends in `.ozx` or has its comment. */
  readonly problems: readonly string[];
  /** The comment of the archive. */
  readonly comment: string;
  /** The version of OME-Zarr in the comment, which follows RFC-9 then. */
  readonly omeVersion?: string;
}

/** Describes a state of an archive. */
export function describeArchive(
  { key, size, entries, folder, comment, digest }: Archive,
): ZipDescription {
  const omeVersion = omeVersionOf(comment);
  const counts = { entries: 0, deflated: 0, unreadable: 0, unnamed: 0 };
  for (const name of entries.names()) {
    if (name === "" || name.endsWith("/")) continue;
    const entry = entries.get(name)!;
    counts.entries++;
    if (isDeflated(entry)) counts.deflated++;
    if (obstacleOf(entry) !== undefined) counts.unreadable++;
    if (keyProblem(name) !== undefined) counts.unnamed++;
  }
  return {
    key,
    size,
    digest,
    folder: folder.path.replace(/\/$/, ""),
    nodes: folder.nodes.map((node) => node.slice(0, -1)),
    ...counts,
    replaced: entries.replaced,
    comment: new TextDecoder().decode(comment),
    ...omeVersion !== undefined && { omeVersion },
    problems: /\.ozx$/i.test(key) || omeVersion !== undefined
      ? problemsOf(entries, omeVersion !== undefined, counts.deflated)
      : [],
  };
}

/** The version of OME-Zarr in the comment of an archive, as RFC-9 of NGFF recommends it. */
function omeVersionOf(comment: Uint8Array): string | undefined {
  // The text ends with a byte of zero, or with the comment.
  const [text] = new TextDecoder().decode(comment).split("\0", 1);
  try {
    const version = JSON.parse(text!)?.ome?.version;
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined;
  }
}

const DOCUMENT = "zarr.json";

/**
 * What contradicts RFC-9 of NGFF in an archive of OME-Zarr.
 *
 * @param isRecommended Whether the archive has the comment of the recommended variant.
 * @param deflated The number of deflated entries.
 */
function problemsOf(
  entries: EntryTable,
  isRecommended: boolean,
  deflated: number,
): string[] {
  const comment =
    "its comment announces the variant that RFC-9 of NGFF recommends";
  return [
    entries.get(DOCUMENT) === undefined &&
    "has no zarr.json at its root, as RFC-9 of NGFF requires",
    isRecommended && deflated > 0 &&
    `has ${deflated} deflated ${
      deflated === 1 ? "entry" : "entries"
    }, where ${comment}`,
    isRecommended && !hasDocumentsFirst(entries) &&
    `does not have all zarr.json at the start, the outer ones first, where ${comment}`,
  ].filter((problem) => problem !== false);
}

/** Whether the directory lists the documents of nodes first, those of outer nodes before others. */
function hasDocumentsFirst(entries: EntryTable): boolean {
  let depth = 0;
  let isStart = true;
  for (const name of entries.names()) {
    if (name === "" || name.endsWith("/")) continue;
    const names = name.split("/");
    const isDocument = names.at(-1) === DOCUMENT;
    if (isDocument && (!isStart || names.length < depth)) return false;
    depth = names.length;
    isStart &&= isDocument;
  }
  return true;
}
