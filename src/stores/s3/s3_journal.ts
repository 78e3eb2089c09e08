import { readWhole } from "../http/read_whole.ts";
import { StatusError } from "../http/request_errors.ts";
import type { RecoverOptions, Recovery } from "../recover.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { relativeKey, resolveKey, splitPath } from "../store_key.ts";
import { type Bucket, ConflictError } from "./bucket.ts";
import {
  isJournalKey,
  isProbeKey,
  isTemporaryKey,
  listAll,
  type ListedObject,
} from "./listing.ts";
import {
  abortUpload,
  ABSENT,
  comesFrom,
  completeUpload,
  type Conditions,
  copyPieces,
  createUpload,
  deleteObject,
  etagIn,
  type Metadata,
  metadataOf,
  type ObjectTag,
  type PreparedUpload,
  probeConditions,
  putObject,
  putPiece,
  settleUpload,
  tagOf,
} from "./objects.ts";

/** Where the bytes of an object are while its upload is not complete: in the journal itself, or in another object. */
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
    /** The write that the record is of. */
    readonly generation: string;
    /** The chunk. */
    readonly key: StoreKey;
  }
  & (
    | {
      /** The tag that the first object must have; `*` if any. */
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
    /** Nothing is to be done. Stores without conditional `DELETE` keep such a journal. */
    | { readonly isIdle: true }
  );

type WriteRecord = Extract<
  JournalRecord,
  { readonly first: PreparedUpload }
>;

/** An object that is to be removed, with its tag and its ETag. */
export interface RemovedObject extends Omit<ObjectTag, "earlier"> {
  readonly key: StoreKey;
}

/** A journal as it was found. */
export interface FoundJournal {
  readonly etag: string;
  /** What it says; `undefined` if it cannot be understood. */
  readonly record: JournalRecord | undefined;
}

/** Whether a journal describes work that is to be done. */
export function isBusy(
  found: FoundJournal | undefined,
): found is FoundJournal & { readonly record: JournalRecord } {
  return found?.record !== undefined && !("isIdle" in found.record);
}

/** What became of a record. */
export interface Outcome {
  /** Whether its objects are in place, or removed. */
  readonly isDone: boolean;
  /** The first object, if the write was undone, or if another one came before or after it. */
  readonly first?: ObjectTag;
  /** Why a write was undone, if its first object could not be stored. */
  readonly cause?: Error;
}

/**
 * The journal of a chunk of several objects. The program that creates it has the right to
 * replace the objects. Programs that find it do the same work, so that none waits for
 * another.
 *
 * Each upload can be completed once, so that a program that comes late changes nothing.
 * An upload is completed, or given up and replaced in the journal, before the journal is
 * removed.
 */
export class Journal {
  readonly #bucket: Bucket;
  readonly #place: StoreKey;
  readonly #conditions: Conditions;

  constructor(bucket: Bucket, place: StoreKey, conditions: Conditions) {
    this.#bucket = bucket;
    this.#place = place;
    this.#conditions = conditions;
  }

  /**
   * Stores a record, with which any program can do its work. Carries out the records of
   * others that are found before. The signal ends the waiting for others, and not the
   * storing.
   *
   * @param isFull Whether the record replaces all objects, whatever they are. It then
   * takes the place of records that cannot be carried out.
   * @param onRequest Told whether the journal may be stored, if this fails.
   */
  async commit(
    record: JournalRecord,
    isFull: boolean,
    options: StoreOptions,
    onRequest: (isStored: boolean) => void = () => {},
  ): Promise<FoundJournal & { readonly record: JournalRecord }> {
    const { objects } = this.#bucket;
    const bytes = encode(record, this.#place);
    for (;;) {
      options.signal?.throwIfAborted();
      const found = await findJournal(objects, this.#place, options);
      if (isBusy(found)) {
        if (found.record.generation === record.generation) return found;
        try {
          await this.carryOut(found);
          continue;
        } catch (error) {
          if (!isFull) throw error;
          await revokeAll(this.#bucket, found.record).catch(() => {
            throw error;
          });
        }
      }
      const condition: Record<string, string> = found
        ? { "if-match": found.etag }
        : { "if-none-match": "*" };
      try {
        onRequest(true);
        const place = this.#place;
        const etag = await putObject(objects, place, bytes, condition, {});
        if (etag !== null) return { record, etag };
      } catch (error) {
        // It may be the record of this call, if an answer was lost.
        if (error instanceof ConflictError) continue;
        // The first answer to a request, which so has had no effect.
        const isRefused = error instanceof StatusError && !error.isRepeated &&
          error.status < 500;
        if (isRefused) onRequest(false);
        throw error;
      }
    }
  }

  /**
   * Carries out a record, and ends the journal. Any number of programs may do so at the
   * same time, and one that comes late changes nothing; only objects with equal bytes,
   * which are stored between its check and its `DELETE`, are removed.
   *
   * @param isOwn Whether the program has stored the record. Others end the journal, if
   * this one cannot once the work is done.
   */
  async carryOut(
    found: FoundJournal & { readonly record: JournalRecord },
    isOwn = false,
  ): Promise<Outcome> {
    const end = (found: FoundJournal) =>
      this.#end(found).catch((error) => {
        if (!isOwn) throw error;
      });
    for (let next: FoundJournal | undefined = found; isBusy(next);) {
      const { record }: { record: JournalRecord } = next;
      if (!("first" in record)) {
        const isDone = await this.#remove(record);
        await end(next);
        return { isDone };
      }
      const outcome = await this.#completeFirst(record);
      if (!outcome.isDone) {
        await revokeAll(this.#bucket, record);
        await this.#end(next);
        return outcome;
      }
      const replaced = await this.#completeOthers(next, record);
      if (replaced === "all") {
        await end(next);
        return outcome;
      }
      // Another program may have changed the journal as well, or have ended it.
      next = replaced ?? await findJournal(
        this.#bucket.objects,
        this.#place,
        {},
      );
      if (next?.record?.generation !== record.generation) return outcome;
    }
    return { isDone: true };
  }

  /**
   * Undoes a write that has failed after it may have been committed, unless its first
   * object is in place.
   *
   * @returns Whether it is undone.
   */
  async undo(record: JournalRecord): Promise<boolean> {
    if (!("first" in record)) return false;
    const { objects } = this.#bucket;
    const { first, generation } = record;
    let isStored = false;
    await settleUpload(
      objects,
      first,
      "to be given up",
      async () =>
        isStored = comesFrom(await tagOf(objects, first.key, {}), generation),
    );
    if (isStored) return false;
    await revokeAll(this.#bucket, record);
    const found = await findJournal(objects, this.#place, {});
    if (found?.record?.generation === generation) await this.#end(found);
    return true;
  }

  /** Stores the first object, unless it is not the one that the record expects to replace. */
  async #completeFirst(
    { generation, base, first }: WriteRecord,
  ): Promise<Outcome> {
    const { objects } = this.#bucket;
    let state: ObjectTag = ABSENT;
    const isStored = async () => {
      state = await tagOf(objects, first.key, {});
      return state.tag === generation;
    };
    if (base !== "*") {
      if (await isStored()) return { isDone: true };
      if (state.tag !== base) return { isDone: false, first: state };
    }
    const completion = await completeUpload(objects, first, {});
    await settleUpload(
      objects,
      first,
      completion,
      async () => await isStored() || await this.#isOver(generation),
    );
    if (state.tag === generation || await isStored()) return { isDone: true };
    return {
      isDone: false,
      first: state,
      ...typeof completion === "object" && { cause: completion.spoilt },
    };
  }

  /**
   * Stores the other objects.
   *
   * @returns `"all"` once they are in place; or the journal with another upload; or
   * `undefined` if another program has changed the journal.
   */
  async #completeOthers(
    found: FoundJournal,
    record: WriteRecord,
  ): Promise<"all" | FoundJournal | undefined> {
    const { objects } = this.#bucket;
    const { generation, others } = record;
    for (const upload of others) {
      const completion = await completeUpload(objects, upload, {});
      let isStored = false;
      let isOver = false;
      await settleUpload(objects, upload, completion, async () => {
        const { tag } = await tagOf(objects, upload.key, {});
        isStored = tag === generation;
        return isStored || (isOver = await this.#isOver(generation));
      });
      if (isStored) continue;
      if (isOver) return undefined;
      const metadata = metadataOf(generation, true);
      const { key, source } = upload;
      const again = await keepUpload(this.#bucket, key, metadata, source, {});
      const next = {
        ...record,
        others: others.map((other) => other === upload ? again : other),
      };
      return await this.#replace(found, next, again);
    }
    return "all";
  }

  /** Whether another program has finished a write, after which another one may have come. */
  async #isOver(generation: string): Promise<boolean> {
    const found = await findJournal(this.#bucket.objects, this.#place, {});
    return found?.record?.generation !== generation;
  }

  /** Puts another record of the same write in the place of a journal. */
  async #replace(
    { etag }: FoundJournal,
    record: JournalRecord,
    upload: PreparedUpload,
  ): Promise<FoundJournal | undefined> {
    const { objects } = this.#bucket;
    const bytes = encode(record, this.#place);
    const condition = { "if-match": etag };
    try {
      const etag = await putObject(
        objects,
        this.#place,
        bytes,
        condition,
        {},
      );
      if (etag !== null) return { record, etag };
    } catch (error) {
      if (!(error instanceof ConflictError)) {
        await abortUpload(objects, upload).catch(() => {});
        throw error;
      }
      // It may be the record of this call, if an answer was lost.
      const found = await findJournal(objects, this.#place, {});
      const there = found?.record;
      const isOwn = there !== undefined && "others" in there &&
        there.others.some(({ id }) => id === upload.id);
      if (isOwn) return found;
      await abortUpload(objects, upload);
    }
  }

  async #remove(record: JournalRecord): Promise<boolean> {
    const { objects } = this.#bucket;
    const isExpected = await isAsExpected(objects, record);
    if (!isExpected || !("removed" in record)) return isExpected;
    for (const { key, etag } of record.removed) {
      if (etag === undefined) continue;
      try {
        await deleteObject(objects, key, { "if-match": etag }, {});
      } catch (error) {
        // The object has been replaced since it was checked.
        if (!(error instanceof ConflictError)) throw error;
      }
    }
    return true;
  }

  /** Removes a journal whose work is done, and what holds its bytes. */
  async #end(found: FoundJournal): Promise<void> {
    const { etag } = found;
    const record = found.record!;
    const { objects } = this.#bucket;
    try {
      if (this.#conditions.delete) {
        await deleteObject(objects, this.#place, { "if-match": etag }, {});
      } else {
        const idle: JournalRecord = {
          generation: crypto.randomUUID(),
          key: record.key,
          isIdle: true,
        };
        await putObject(
          objects,
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
    for (const key of sourcesOf(record)) {
      await deleteObject(objects, key, {}, {});
    }
  }
}

/** The objects that hold bytes of a record. */
export function sourcesOf(record: JournalRecord): StoreKey[] {
  if (!("others" in record)) return [];
  return record.others.flatMap(({ source }) =>
    "from" in source ? [source.from] : []
  );
}

/** Gives up all uploads of a record, so that no program completes them later. */
async function revokeAll(
  { objects }: Bucket,
  record: JournalRecord,
): Promise<void> {
  if (!("first" in record)) return;
  for (const upload of [record.first, ...record.others]) {
    await abortUpload(objects, upload);
  }
}

/** Sends bytes that are kept in a journal or in another object, so that they can be sent again. */
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

/**
 * Whether the objects of a chunk are those that a record expects. The work of the record
 * is done only then.
 */
export async function isAsExpected(
  requests: Bucket["objects"],
  record: JournalRecord,
): Promise<boolean> {
  if ("removed" in record) {
    // An object of another write has the same ETag if it has the same bytes.
    for (const { key, tag } of record.removed) {
      const found = await tagOf(requests, key, {});
      if (found.tag !== tag && found.tag !== "-") return false;
    }
  } else if ("first" in record && record.base !== "*") {
    const { tag } = await tagOf(requests, record.first.key, {});
    return tag === record.base || tag === record.generation;
  }
  return true;
}

/** Reads the journal under a key; `undefined` if there is none. */
export async function findJournal(
  requests: Bucket["objects"],
  place: StoreKey,
  options: StoreOptions,
): Promise<FoundJournal | undefined> {
  return await readWhole(requests, options, async () => {
    const answer = await requests.send(place, options, [200]);
    if (answer === undefined) return undefined;
    const text = new TextDecoder().decode(await answer.bytesUpTo(Infinity));
    return { etag: etagIn(answer, place), record: decode(text, place) };
  });
}

/** The error for a journal that cannot be understood. */
export function unknownJournal(place: StoreKey): Error {
  return new Error(
    `Expected a journal of this version of the package at ${
      JSON.stringify(place)
    }, found another value: write the whole chunk, which replaces it, or remove it if no program writes the chunk`,
  );
}

/** The version of the format. */
const VERSION = 2;

/** Encodes a record. Its keys are relative to the journal, so that stores with other prefixes find the objects. */
function encode(record: JournalRecord, place: StoreKey): Uint8Array {
  const { folder } = splitPath(place);
  const text = JSON.stringify(
    { journal: VERSION, ...record },
    (name, value) => isKey(name) ? relativeKey(folder, value) : value,
  );
  return new TextEncoder().encode(text);
}

function decode(text: string, place: StoreKey): JournalRecord | undefined {
  const { folder } = splitPath(place);
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

/**
 * The age in milliseconds from which objects that keep the bytes of a chunk are removed, if
 * no journal names them: a program that stores such a chunk slowly may need them.
 */
const OLD = 24 * 60 * 60 * 1000;

/** Carries out the journals in a bucket, as `recover` does. With `dryRun`, nothing is changed. */
export async function recoverBucket(
  bucket: Bucket,
  { path = "", dryRun = false, signal }: RecoverOptions,
): Promise<Recovery> {
  const options = signal ? { signal } : {};
  const { objects } = bucket;
  const names = path.split("/").filter((name) => name !== "");
  const prefix = ["", ...names, ""].join("/");
  const written: StoreKey[] = [];
  const deleted: StoreKey[] = [];
  const errors: unknown[] = [];
  const temporary: ListedObject[] = [];
  const needed = new Set<StoreKey>();
  let conditions;
  for await (const object of listAll(bucket, prefix, options)) {
    const place = object.key;
    if (!isTemporaryKey(place)) continue;
    if (!isJournalKey(place)) {
      temporary.push(object);
      continue;
    }
    try {
      const found = await findJournal(objects, place, options);
      if (found && !found.record) throw unknownJournal(place);
      if (!isBusy(found)) continue;
      const { record } = found;
      for (const key of sourcesOf(record)) needed.add(key);
      let isDone: boolean;
      if (dryRun) isDone = await isAsExpected(objects, record);
      else {
        conditions ??= await probeConditions(objects, options);
        const journal = new Journal(bucket, place, conditions);
        ({ isDone } = await journal.carryOut(found));
      }
      if (!isDone) continue; // The chunk keeps its objects, or those of another program.
      ("removed" in record ? deleted : written).push(record.key);
    } catch (error) {
      signal?.throwIfAborted();
      errors.push(error); // The other chunks are recovered before.
    }
  }
  let files = 0;
  let bytes = 0;
  for (const { key, size, modified } of temporary) {
    // Programs ask a bucket again whose probe is gone.
    const isLeft = isProbeKey(key) || modified < Date.now() - OLD;
    if (!isLeft || needed.has(key) || errors.length > 0) continue;
    if (!dryRun) await deleteObject(objects, key, {}, options);
    files++;
    bytes += size;
  }
  if (errors.length > 1) {
    throw new AggregateError(
      errors,
      `Cannot recover ${errors.length} chunks in ${bucket.url}: ${
        (errors[0] as Error).message
      }`,
    );
  }
  if (errors.length === 1) throw errors[0];
  return { written, deleted, temporary: { files, bytes } };
}
