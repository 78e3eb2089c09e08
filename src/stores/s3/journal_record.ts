import type { StoreKey } from "../store.ts";
import { relativeKey, resolveKey, splitPath } from "../store_key.ts";
import type { PreparedUpload } from "./uploads.ts";

/** Where the bytes of an object are kept until its upload is complete: in the journal, or in journals of earlier releases in another object. */
export type Source =
  | { readonly base64: string }
  | { readonly from: StoreKey };

/** An upload whose bytes are kept, so that it can be replaced by another one if it is spoilt. */
export interface KeptUpload extends PreparedUpload {
  readonly source: Source;
}

/** Uploads to complete. */
export interface WriteRecord {
  /** The identifier of the write. */
  readonly generation: string;
  /** The chunk. */
  readonly key: StoreKey;
  /**
   * The tag that the first object must have; `*` for any; `null` if the writer has to check
   * the present objects, so that nobody else completes the first upload.
   */
  readonly base: string | null;
  /**
   * The upload of the first object, which is completed first. Until then, the write can
   * be undone; from then on, it will be finished.
   */
  readonly first: PreparedUpload;
  /** The other uploads in the order in which they are completed. */
  readonly others: readonly KeptUpload[];
}

/** An object that is to be removed, with the tag and the ETag that it must have. */
interface RemovedObject {
  readonly key: StoreKey;
  readonly tag: string;
  /** `undefined` if there was no object. */
  readonly etag: string | undefined;
}

/** Objects to remove. */
export interface RemovalRecord extends Pick<WriteRecord, "generation" | "key"> {
  /** All objects in the order in which they are removed. */
  readonly removed: readonly RemovedObject[];
}

/** Nothing is to be done. Services without conditional `DELETE` keep such a journal. */
interface IdleRecord extends Pick<WriteRecord, "generation" | "key"> {
  readonly isIdle: true;
}

/** What a journal describes. */
export type JournalRecord = WriteRecord | RemovalRecord | IdleRecord;

/** The keys of the objects that keep bytes of a record. */
export function sourcesOf(record: JournalRecord): StoreKey[] {
  if (!("others" in record)) return [];
  return record.others.flatMap(({ source }) =>
    "from" in source ? [source.from] : []
  );
}

/** The keys of the objects that a record stores or removes. */
export function targetsOf(record: JournalRecord): StoreKey[] {
  if ("isIdle" in record) return [];
  const objects = "removed" in record
    ? record.removed
    : [record.first, ...record.others];
  return objects.map(({ key }) => key);
}

/** The version of the format. Version 2, in which no `base` is `null`, is read, too. */
const VERSION = 3;

/**
 * Encodes a record. Its keys are relative to the journal, so that stores with other
 * prefixes find the objects.
 *
 * @param key The key of the journal.
 */
export function encodeRecord(record: JournalRecord, key: StoreKey): Uint8Array {
  const { folder } = splitPath(key);
  const text = JSON.stringify(
    { ...record, journal: VERSION },
    (name, value) => isKey(name) ? relativeKey(folder, value) : value,
  );
  return new TextEncoder().encode(text);
}

/** Whether the value of a member is a key. */
function isKey(name: string): boolean {
  return name === "key" || name === "from";
}

/**
 * Parses a journal. Returns `undefined` for any other value.
 *
 * @param key The key of the journal.
 * @throws {Error} If it names an object outside of this store, which is no damage.
 */
export function parseRecord(
  bytes: Uint8Array,
  key: StoreKey,
): JournalRecord | undefined {
  const { folder } = splitPath(key);
  const resolve = (name: string, value: unknown) =>
    isKey(name) && typeof value === "string"
      ? resolveKey(folder, value)
      : value;
  try {
    const document = JSON.parse(new TextDecoder().decode(bytes), resolve);
    return isRecord(document) ? document : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Whether a document is a record of one of the three kinds. */
function isRecord(document: unknown): document is JournalRecord {
  const { journal, generation, key, isIdle, removed, base, first, others } =
    membersOf(document);
  return (journal === 2 || journal === VERSION) && areTexts(generation, key) &&
    (isIdle === true || isListOf(removed, isRemovedObject) ||
      (base === null || areTexts(base)) && isUpload(first) &&
        isListOf(others, isKeptUpload));
}

function isRemovedObject(value: unknown): boolean {
  const { key, tag, etag = "" } = membersOf(value);
  return areTexts(key, tag, etag);
}

function isUpload(value: unknown): boolean {
  const { key, id, pieces } = membersOf(value);
  return areTexts(key, id) && isListOf(pieces, (piece) => {
    const { number, etag } = membersOf(piece);
    return Number.isInteger(number) && areTexts(etag);
  });
}

function isKeptUpload(value: unknown): boolean {
  const { base64, from } = membersOf(membersOf(value).source);
  return isUpload(value) && areTexts(base64 ?? from);
}

/** The members of an object; none of any other value. */
function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return Object(value);
}

function areTexts(...values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === "string");
}

function isListOf(
  value: unknown,
  isItem: (item: unknown) => boolean,
): boolean {
  return Array.isArray(value) && value.every(isItem);
}
