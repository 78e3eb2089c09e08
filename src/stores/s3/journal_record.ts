import type { StoreKey } from "../store.ts";
import { relativeKey, resolveKey, splitPath } from "../store_key.ts";
import type { PreparedUpload, StoredPiece } from "./uploads.ts";

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

/** The version of the format. */
const VERSION = 3;
/** The versions that can be read: in version 2, no `base` is `null`. */
const VERSIONS: readonly unknown[] = [2, VERSION];

/**
 * Encodes a record. Its keys are relative to the journal, so that stores with other
 * prefixes find the objects.
 *
 * @param key The key of the journal.
 */
export function encodeRecord(record: JournalRecord, key: StoreKey): Uint8Array {
  const { folder } = splitPath(key);
  const text = JSON.stringify(
    { journal: VERSION, ...record },
    (name, value) =>
      name === "key" || name === "from" ? relativeKey(folder, value) : value,
  );
  return new TextEncoder().encode(text);
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
  try {
    const document: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return new Fields(document, folder).record();
  } catch (error) {
    const isOther = error instanceof SyntaxError ||
      error instanceof MalformedError;
    if (isOther) return undefined;
    throw error;
  }
}

class MalformedError extends Error {}

/** The members of an object in a journal. */
class Fields {
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #folder: string;

  constructor(value: unknown, folder: string) {
    if (typeof value !== "object" || value === null) throw new MalformedError();
    this.#fields = value as Record<string, unknown>;
    this.#folder = folder;
  }

  record(): JournalRecord {
    const { journal, isIdle, removed, base } = this.#fields;
    if (!VERSIONS.includes(journal)) throw new MalformedError();
    const common = { generation: this.#text("generation"), key: this.#key() };
    if (isIdle === true) return { ...common, isIdle };
    if (removed !== undefined) {
      const objects = this.#list("removed", (object) => ({
        key: object.#key(),
        tag: object.#text("tag"),
        etag: "etag" in object.#fields ? object.#text("etag") : undefined,
      }));
      return { ...common, removed: objects };
    }
    return {
      ...common,
      base: base === null ? null : this.#text("base"),
      first: new Fields(this.#fields.first, this.#folder).#upload(),
      others: this.#list("others", (upload) => ({
        ...upload.#upload(),
        source: new Fields(upload.#fields.source, this.#folder).#source(),
      })),
    };
  }

  #upload(): PreparedUpload {
    const pieces = this.#list("pieces", (piece) => piece.#piece());
    return { key: this.#key(), id: this.#text("id"), pieces };
  }

  #piece(): StoredPiece {
    const { number } = this.#fields;
    if (typeof number !== "number") throw new MalformedError();
    return { number, etag: this.#text("etag") };
  }

  #source(): Source {
    return "from" in this.#fields
      ? { from: this.#key("from") }
      : { base64: this.#text("base64") };
  }

  #text(name: string): string {
    const value = this.#fields[name];
    if (typeof value !== "string") throw new MalformedError();
    return value;
  }

  #key(name = "key"): StoreKey {
    return resolveKey(this.#folder, this.#text(name)) as StoreKey;
  }

  #list<T>(name: string, parse: (item: Fields) => T): T[] {
    const value = this.#fields[name];
    if (!Array.isArray(value)) throw new MalformedError();
    return value.map((item) => parse(new Fields(item, this.#folder)));
  }
}
