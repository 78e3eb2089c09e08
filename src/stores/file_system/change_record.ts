/** The records of journals in folders: which steps a change of the files of a chunk takes, and how a record is stored. */

/** Two names of a file, before and after. */
type NamePair = readonly [from: string, to: string];

/**
 * A change of the files of a chunk: its steps in their order, each of which can be taken
 * again. The files have names relative to the folder of the journal.
 */
export interface Change {
  /** The name of the chunk: the last segment of its key. */
  readonly chunk: string;
  /** The names of files to remove, the last one first. */
  readonly removed: readonly string[];
  /** The file that is cut to a length, and then made longer by the bytes of a temporary file. */
  readonly data?:
    | { readonly name: string; readonly size: number; readonly tail?: string }
    | undefined;
  /** The files that get other names. */
  readonly renamed: readonly NamePair[];
  /** The names of temporary files, and the names that they get, in storing order. */
  readonly written: readonly NamePair[];
}

/** Whether a change leaves nothing of the chunk. */
export function isDeletion({ data, renamed, written }: Change): boolean {
  return data === undefined && renamed.length + written.length === 0;
}

/** The temporary files that a change needs, each with the name of a part beside it. */
export function temporariesOf({ data, written }: Change): readonly NamePair[] {
  return data?.tail ? [...written, [data.tail, data.name]] : written;
}

/** The names of the parts of a chunk that a change concerns. */
export function partsOf({ removed, data, renamed, written }: Change): string[] {
  return [
    ...removed,
    ...renamed.flat(),
    ...written.map(([_, to]) => to),
    ...data ? [data.name] : [],
  ];
}

/** Encodes a record as a line of JSON, twice. */
export function encodeRecord(change: Change): Uint8Array {
  const line = `${JSON.stringify(change)}\n`;
  return new TextEncoder().encode(line + line);
}

/**
 * Decodes a record; returns `undefined` if it was not written to its end, so that the two
 * lines differ.
 *
 * @throws {Error} If the record is whole and has another form.
 */
export function decodeRecord(bytes: Uint8Array): Change | undefined {
  const text = new TextDecoder().decode(bytes);
  const line = text.slice(0, text.length / 2);
  if (!line.endsWith("\n") || text !== line + line) return undefined;
  const change = translate(JSON.parse(line));
  if (isChange(change)) return change;
  throw new Error(
    "Expected the steps of a change, as this version of the program writes them, found another record",
  );
}

/** Translates a record of an earlier version, which names an action and its files. */
function translate({ action, files, ...record }: Record<string, unknown>) {
  switch (action) {
    case "delete":
      return { ...record, removed: files, renamed: [], written: [] };
    case "replace":
      return { ...record, ...replacement(files as NamePair[]) };
    case "reshape":
      return { ...record, written: files };
    default:
      return action === undefined ? record : {};
  }
}

/** The steps by which temporary files replace parts: while the last part is absent, the others may belong to different writes. */
export function replacement(
  written: readonly NamePair[],
): Omit<Change, "chunk"> {
  return { removed: [written.at(-1)![1]], renamed: [], written };
}

function isChange(
  change: Readonly<Record<string, unknown>>,
): change is Change & Readonly<Record<string, unknown>> {
  const { chunk, removed, renamed, written, data } = change;
  const isName = (name: unknown) => typeof name === "string";
  const areNames = (names: unknown) =>
    Array.isArray(names) && names.every(isName);
  const arePairs = (pairs: unknown) =>
    Array.isArray(pairs) &&
    pairs.every((pair) => areNames(pair) && pair.length === 2);
  const { name, size, tail } = (data ?? { name: "", size: 0 }) as Record<
    string,
    unknown
  >;
  return isName(chunk) && areNames(removed) && arePairs(renamed) &&
    arePairs(written) && isName(name) && Number.isSafeInteger(size) &&
    isName(tail ?? "");
}
