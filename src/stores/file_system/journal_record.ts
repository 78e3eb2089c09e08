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

/** Decodes a record; returns `undefined` if it was not written to its end, so that the two lines differ. */
export function decodeRecord(bytes: Uint8Array): JournalRecord | undefined {
  const text = new TextDecoder().decode(bytes);
  const line = text.slice(0, text.length / 2);
  return line.endsWith("\n") && text === line + line
    ? JSON.parse(line)
    : undefined;
}
