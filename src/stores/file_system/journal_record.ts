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
      readonly files: readonly (readonly [from: string, to: string])[];
    }
    | {
      readonly action: "delete";
      /** The names of the files, in storing order. */
      readonly files: readonly string[];
    }
  );

/** Encodes a record as a line of JSON, twice. */
export function encodeRecord(record: JournalRecord): Uint8Array {
  const line = `${JSON.stringify(record)}\n`;
  return new TextEncoder().encode(line + line);
}

/**
 * Decodes a record; returns `undefined` if it was not written to its end, so that the two
 * lines differ.
 *
 * @throws {Error} If the record is whole and says something else.
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
  const { chunk, action, files } = (record ?? {}) as Record<string, unknown>;
  const isName = (name: unknown) => typeof name === "string";
  const isPair = (pair: unknown) =>
    Array.isArray(pair) && pair.length === 2 && pair.every(isName);
  return isName(chunk) && Array.isArray(files) && files.length > 0 && (
    action === "replace" && files.every(isPair) ||
    action === "delete" && files.every(isName)
  );
}
