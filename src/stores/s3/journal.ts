import type { Requests } from "../http/exchange.ts";
import { relativeKey, resolveKey, splitPath } from "../key_path.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import type { Conditions } from "./conditions.ts";
import { ConflictError } from "./conflict_error.ts";
import {
  abortUpload,
  completeUpload,
  etagIn,
  type PreparedUpload,
} from "./multipart.ts";
import { deleteObject, type ObjectTag, putObject, tagOf } from "./objects.ts";

/** The work that a journal describes: uploads to complete, or objects to remove. */
export type JournalRecord =
  & {
    /** The write that the record is of. */
    readonly generation: string;
    /** The chunk. */
    readonly key: StoreKey;
  }
  & (
    | {
      /** The tag that the first object must have; `*` if any. */
      readonly base: string;
      /** The uploads in the order in which they are completed. */
      readonly uploads: readonly PreparedUpload[];
    }
    | {
      /** All objects, with the tags that they must have, in the order in which they are removed. */
      readonly removed: readonly (ObjectTag & { readonly key: StoreKey })[];
    }
    /** Nothing is to be done. Stores without conditional `DELETE` keep such a journal. */
    | { readonly isIdle: true }
  );

/** A journal as it was found. */
export interface FoundJournal {
  readonly record: JournalRecord;
  readonly etag: string;
}

/**
 * The journal of a chunk of several objects. The program that creates it has the right to
 * replace the objects. Programs that find it do the same work, so that none waits for
 * another.
 */
export class Journal {
  readonly #requests: Requests;
  readonly #place: StoreKey;
  readonly #conditions: Conditions;

  constructor(requests: Requests, place: StoreKey, conditions: Conditions) {
    this.#requests = requests;
    this.#place = place;
    this.#conditions = conditions;
  }

  /**
   * Commits a record: from then on it will be carried out, by this program or by
   * another. Carries out the records of others that are found before. The signal ends
   * the waiting for others, and not the commit.
   */
  async commit(
    record: JournalRecord,
    options: StoreOptions,
  ): Promise<FoundJournal> {
    const bytes = encode(record, this.#place);
    for (;;) {
      options.signal?.throwIfAborted();
      const found = await findJournal(this.#requests, this.#place, options);
      if (found?.record.generation === record.generation) return found;
      if (found && !("isIdle" in found.record)) {
        await this.carryOut(found);
        continue;
      }
      const condition: Record<string, string> = found
        ? { "if-match": found.etag }
        : { "if-none-match": "*" };
      try {
        const etag = await putObject(
          this.#requests,
          this.#place,
          bytes,
          condition,
          {},
        );
        if (etag !== null) return { record, etag };
      } catch (error) {
        // It may be the record of this call, if an answer was lost.
        if (!(error instanceof ConflictError)) throw error;
      }
    }
  }

  /**
   * Carries out a committed record, and ends the journal. Any number of programs may do
   * so at the same time, and one that comes late changes nothing; only objects with equal
   * bytes, which are stored between its check and its `DELETE`, are removed.
   *
   * @returns Whether the objects were those that the record expects.
   */
  async carryOut({ record, etag }: FoundJournal): Promise<boolean> {
    const isExpected = await isAsExpected(this.#requests, record);
    await this.#carryOut(record, isExpected);
    try {
      if (this.#conditions.delete) {
        await deleteObject(
          this.#requests,
          this.#place,
          { "if-match": etag },
          {},
        );
      } else {
        const idle: JournalRecord = {
          generation: crypto.randomUUID(),
          key: record.key,
          isIdle: true,
        };
        await putObject(
          this.#requests,
          this.#place,
          encode(idle, this.#place),
          { "if-match": etag },
          {},
        );
      }
    } catch (error) {
      // Another program has ended it.
      if (!(error instanceof ConflictError)) throw error;
    }
    return isExpected;
  }

  async #carryOut(record: JournalRecord, isExpected: boolean): Promise<void> {
    const requests = this.#requests;
    if ("uploads" in record) {
      for (const upload of record.uploads) {
        if (isExpected) await completeUpload(requests, upload, {});
        else await abortUpload(requests, upload.key, upload.id);
      }
    } else if ("removed" in record && isExpected) {
      for (const { key, etag } of record.removed) {
        if (etag === undefined) continue;
        try {
          await deleteObject(requests, key, { "if-match": etag }, {});
        } catch (error) {
          // The object has been replaced since it was checked.
          if (!(error instanceof ConflictError)) throw error;
        }
      }
    }
  }
}

/**
 * Whether the objects of a chunk are those that a record expects. The work of the record
 * is done only then.
 */
export async function isAsExpected(
  requests: Requests,
  record: JournalRecord,
): Promise<boolean> {
  if ("removed" in record) {
    // An object of another write has the same ETag if it has the same bytes.
    for (const { key, tag } of record.removed) {
      const found = await tagOf(requests, key, {});
      if (found.tag !== tag && found.tag !== "-") return false;
    }
  } else if ("uploads" in record && record.base !== "*") {
    const { tag } = await tagOf(requests, record.uploads[0]!.key, {});
    return tag === record.base || tag === record.generation;
  }
  return true;
}

/** Reads the journal under a key; `undefined` if there is none. */
export async function findJournal(
  requests: Requests,
  place: StoreKey,
  options: StoreOptions,
): Promise<FoundJournal | undefined> {
  const answer = await requests.send(place, options, [200]);
  if (answer === undefined) return undefined;
  const text = new TextDecoder().decode(await answer.bytesUpTo(Infinity));
  const etag = etagIn(answer, place);
  try {
    return { record: decode(text, place), etag };
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new Error(
      `Expected a journal of this package at ${
        JSON.stringify(place)
      }, found another value; remove it if no program writes`,
      { cause },
    );
  }
}

/** Encodes a record. Its keys are relative to the journal, so that stores with other prefixes find the objects. */
function encode(record: JournalRecord, place: StoreKey): Uint8Array {
  const { folder } = splitPath(place);
  const text = JSON.stringify(
    record,
    (name, value) => name === "key" ? relativeKey(folder, value) : value,
  );
  return new TextEncoder().encode(text);
}

function decode(text: string, place: StoreKey): JournalRecord {
  const { folder } = splitPath(place);
  return JSON.parse(
    text,
    (name, value) => name === "key" ? resolveKey(folder, value) : value,
  );
}
