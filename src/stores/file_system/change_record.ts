/** The records of journals in folders: which files of a chunk a change concerns, and how a record is stored. */

import { isTemporary, splitPath } from "../store_key.ts";

/** A change of the files of a chunk. The files have names relative to the folder of the journal. */
export type JournalRecord =
  & {
    /** The name of the chunk: the last segment of its key. */
    readonly chunk: string;
  }
  & (
    | {
      readonly action: "replace";
      /** The names of temporary files, and the names that they get, in storing order. */
      readonly files: readonly NamePair[];
    }
    | {
      readonly action: "delete";
      /** The names of the files, in storing order. */
      readonly files: readonly string[];
    }
    | ({ readonly action: "reshape" } & Reshaping)
  );

/** Two names of a file, before and after. */
type NamePair = readonly [from: string, to: string];

/** How the files of a chunk get another layout, without a copy of the longest one. */
export interface Reshaping {
  /** The files that the new layout does not have, in storing order. */
  readonly removed: readonly string[];
  /** The file that is cut to a length, and then made longer by the bytes of a temporary file. */
  readonly data?: {
    readonly name: string;
    readonly size: number;
    readonly tail?: string;
  };
  /** The files that get other names. */
  readonly renamed: readonly NamePair[];
  /** The names of temporary files, and the names that they get. */
  readonly files: readonly NamePair[];
}

/** The steps of a change in their order. Each can be taken again. */
interface Steps {
  /** The names of files to remove, the last one first. */
  readonly removed: readonly string[];
  readonly data?: Reshaping["data"];
  /** The names of files to rename, and their new names. Temporary files become parts. */
  readonly renamed: readonly NamePair[];
}

/** Returns the steps of a change. */
export function stepsOf(record: JournalRecord): Steps {
  switch (record.action) {
    case "delete":
      return { removed: record.files, renamed: [] };
    case "replace":
      // While the last file is absent, the others may belong to different writes.
      return { removed: [record.files.at(-1)![1]], renamed: record.files };
    case "reshape":
      return { ...record, renamed: [...record.renamed, ...record.files] };
  }
}

/** The names of parts in a record, and those of temporary files, each with a part beside it. */
export function namesOf(
  record: JournalRecord,
): { parts: readonly string[]; temporaries: readonly NamePair[] } {
  const { removed, data, renamed } = stepsOf(record);
  const isNew = ([from]: NamePair) => isTemporary(splitPath(from).name);
  return {
    parts: [
      ...removed,
      ...renamed.flatMap((pair) => isNew(pair) ? [pair[1]] : pair),
      ...data ? [data.name] : [],
    ],
    temporaries: [
      ...renamed.filter(isNew),
      ...data?.tail ? [[data.tail, data.name] as const] : [],
    ],
  };
}

/** Encodes a record as a line of JSON, twice. */
export function encodeRecord(record: JournalRecord): Uint8Array {
  const line = `${JSON.stringify(record)}\n`;
  return new TextEncoder().encode(line + line);
}

/**
 * Decodes a record; returns `undefined` if it was not written to its end, so that the two
 * lines differ.
 *
 * @throws {Error} If the record is whole and has another form.
 */
export function decodeRecord(bytes: Uint8Array): JournalRecord | undefined {
  const text = new TextDecoder().decode(bytes);
  const line = text.slice(0, text.length / 2);
  if (!line.endsWith("\n") || text !== line + line) return undefined;
  const record = JSON.parse(line);
  if (isRecord(record)) return record;
  throw new Error(
    "Expected the replacement or the deletion of files, as this version of the program writes it, found another record",
  );
}

function isRecord(record: unknown): record is JournalRecord {
  const { chunk, action, files, removed, renamed, data } =
    (record ?? {}) as Record<string, unknown>;
  const isName = (name: unknown) => typeof name === "string";
  const areNames = (names: unknown) =>
    Array.isArray(names) && names.every(isName);
  const arePairs = (pairs: unknown) =>
    Array.isArray(pairs) &&
    pairs.every((pair) => areNames(pair) && pair.length === 2);
  if (!isName(chunk)) return false;
  if (action === "reshape") {
    const { name, size, tail } = (data ?? { name: "", size: 0 }) as Record<
      string,
      unknown
    >;
    return areNames(removed) && arePairs(renamed) && arePairs(files) &&
      isName(name) && Number.isSafeInteger(size) && isName(tail ?? "");
  }
  return (files as unknown[] | undefined)?.length! > 0 && (
    action === "replace" && arePairs(files) ||
    action === "delete" && areNames(files)
  );
}
