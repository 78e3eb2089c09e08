/** The records of journals in folders: which files of a chunk a change concerns, and how a record is stored. */

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

/** The names of parts in a record, and those of temporary files, each with a part beside it. */
export function namesOf(
  record: JournalRecord,
): { parts: readonly string[]; temporaries: readonly NamePair[] } {
  if (record.action === "delete") {
    return { parts: record.files, temporaries: [] };
  }
  const parts = record.files.map(([_, to]) => to);
  if (record.action === "replace") return { parts, temporaries: record.files };
  const { removed, renamed, files, data } = record;
  return {
    parts: [
      ...parts,
      ...removed,
      ...renamed.flat(),
      ...data ? [data.name] : [],
    ],
    temporaries: data?.tail ? [...files, [data.tail, data.name]] : files,
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
