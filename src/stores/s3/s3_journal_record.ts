import type { RequestSender } from "../http/http_client.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import {
  journalName,
  relativeKey,
  resolveKey,
  splitPath,
} from "../store_key.ts";
import type { Bucket } from "./bucket.ts";
import { etagIn, type Metadata, type ObjectTag } from "./objects.ts";
import {
  abortUpload,
  copyPieces,
  createUpload,
  type PreparedUpload,
  putPiece,
} from "./uploads.ts";

/** Where the bytes of an object are kept until its upload is complete: in the journal itself, or in another object. */
export type Source =
  | { readonly base64: string }
  | { readonly from: StoreKey; readonly size: number };

/** An upload whose bytes are kept, so that it can be replaced by another one if it is spoilt. */
export interface KeptUpload extends PreparedUpload {
  readonly source: Source;
}

/** The work that a journal describes: uploads to complete, or objects to remove. */
export type JournalRecord =
  & {
    /** The identifier of the write. */
    readonly generation: string;
    /** The chunk. */
    readonly key: StoreKey;
  }
  & (
    | {
      /** The tag that the first object must have; `*` for any. */
      readonly base: string;
      /**
       * The upload of the first object, which is completed first. Until then, the write can
       * be undone; from then on, it will be finished.
       */
      readonly first: PreparedUpload;
      /** The other uploads in the order in which they are completed. */
      readonly others: readonly KeptUpload[];
    }
    | {
      /** All objects, with the tags that they must have, in the order in which they are removed. */
      readonly removed: readonly RemovedObject[];
    }
    /** Nothing is to be done. Services without conditional `DELETE` keep such a journal. */
    | { readonly isIdle: true }
  );

/** A record of uploads to complete. */
export type WriteRecord = Extract<
  JournalRecord,
  { readonly first: PreparedUpload }
>;

/** An object that is to be removed, with its tag and its ETag. */
interface RemovedObject extends Omit<ObjectTag, "earlier"> {
  readonly key: StoreKey;
}

/** A journal as it is stored. */
export interface FoundJournal {
  readonly etag: string;
  /** The content of the journal; `undefined` if it cannot be understood. */
  readonly record: JournalRecord | undefined;
}

/** A journal that describes work to be done. */
export type BusyJournal = FoundJournal & { readonly record: JournalRecord };

/** Whether a journal describes work that is to be done. */
export function isBusy(found: FoundJournal | undefined): found is BusyJournal {
  return found?.record !== undefined && !("isIdle" in found.record);
}

/** The keys of the objects that keep bytes of a record. */
export function sourcesOf(record: JournalRecord): StoreKey[] {
  if (!("others" in record)) return [];
  return record.others.flatMap(({ source }) =>
    "from" in source ? [source.from] : []
  );
}

/** The key of the journal of a chunk, beside the chunk. */
export async function journalKey(key: StoreKey): Promise<StoreKey> {
  const { folder, name } = splitPath(key);
  return `${folder}/${await journalName(name)}` as StoreKey;
}

/** Reads the journal under a key; `undefined` if there is none. */
export async function findJournal(
  requests: RequestSender,
  key: StoreKey,
  options: StoreOptions,
): Promise<FoundJournal | undefined> {
  return await requests.send(key, options, [200], {}, async (response) => {
    const text = new TextDecoder().decode(await response.bytesUpTo(Infinity));
    return { etag: etagIn(response, key), record: decodeRecord(text, key) };
  });
}

/** The error for a journal that cannot be understood. */
export function unknownJournalError(key: StoreKey): Error {
  return new Error(
    `Expected a journal of this version of the package at ${
      JSON.stringify(key)
    }, found another value: write the whole chunk, which replaces it, or remove it if no program writes the chunk`,
  );
}

/** The version of the format. */
const VERSION = 2;

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
    (name, value) => isKey(name) ? relativeKey(folder, value) : value,
  );
  return new TextEncoder().encode(text);
}

/** Decodes a record. Returns `undefined` for any other text. */
function decodeRecord(text: string, key: StoreKey): JournalRecord | undefined {
  const { folder } = splitPath(key);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { journal, ...record } = Object(value);
  if (journal !== VERSION || !isRecord(record)) return undefined;
  // Throws for keys outside of this store, which is no damage.
  return JSON.parse(
    JSON.stringify(record),
    (name, value) => isKey(name) ? resolveKey(folder, value) : value,
  );
}

/** Whether a member of a record holds the key of an object. */
function isKey(name: string): boolean {
  return name === "key" || name === "from";
}

// deno-lint-ignore no-explicit-any -- the value of a document
function isRecord(record: any): boolean {
  // deno-lint-ignore no-explicit-any
  const isUpload = ({ key, id, pieces }: any) =>
    typeof key === "string" && typeof id === "string" && Array.isArray(pieces);
  try {
    return typeof record.generation === "string" &&
      typeof record.key === "string" && (
        record.isIdle === true ||
        Array.isArray(record.removed) &&
          // deno-lint-ignore no-explicit-any
          record.removed.every((object: any) =>
            typeof object.key === "string" && typeof object.tag === "string"
          ) ||
        typeof record.base === "string" && isUpload(record.first) &&
          // deno-lint-ignore no-explicit-any
          record.others.every((upload: any) =>
            isUpload(upload) &&
            (typeof upload.source.base64 === "string" ||
              typeof upload.source.from === "string")
          )
      );
  } catch {
    return false;
  }
}

/** Encodes bytes as text. */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += 2 ** 13) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 2 ** 13));
  }
  return btoa(binary);
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** Begins an upload, and sends it the bytes that are kept in a journal or in another object. */
export async function keepUpload(
  bucket: Bucket,
  key: StoreKey,
  metadata: Metadata,
  source: Source,
  options: StoreOptions,
): Promise<KeptUpload> {
  const { objects } = bucket;
  const id = await createUpload(objects, key, metadata, options);
  try {
    const pieces = "base64" in source
      ? [
        await putPiece(objects, key, id, 1, fromBase64(source.base64), options),
      ]
      : await copyPieces(bucket, key, id, source.from, source.size);
    return { key, id, pieces, source };
  } catch (error) {
    await abortUpload(objects, { key, id }).catch(() => {});
    throw error;
  }
}
