import type { RequestSender } from "../http/http_client.ts";
import { StatusError } from "../http/http_failures.ts";
import type { RecoverOptions, Recovery } from "../recover.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { isJournal, isProbe, isTemporary, splitPath } from "../store_key.ts";
import type { Bucket } from "./bucket.ts";
import {
  ABSENT,
  comesFrom,
  type Conditions,
  ConflictError,
  deleteObject,
  type ListedObject,
  listObjects,
  metadataOf,
  type ObjectTag,
  probeConditions,
  putObject,
  tagOf,
} from "./objects.ts";
import {
  type BusyJournal,
  encodeRecord,
  findJournal,
  type FoundJournal,
  isBusy,
  type JournalRecord,
  keepUpload,
  sourcesOf,
  unknownJournalError,
  type WriteRecord,
} from "./s3_journal_record.ts";
import {
  abortUpload,
  completeUpload,
  type PreparedUpload,
  settleUpload,
} from "./uploads.ts";

/** The result of carrying out a record. */
export interface Outcome {
  /** Whether its objects are in place, or removed. */
  readonly isDone: boolean;
  /** The first object, if the write was undone, or if another write came before or after it. */
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
  /** The key of the journal. */
  readonly #key: StoreKey;
  readonly #conditions: Conditions;

  constructor(bucket: Bucket, key: StoreKey, conditions: Conditions) {
    this.#bucket = bucket;
    this.#key = key;
    this.#conditions = conditions;
  }

  get #objects(): RequestSender {
    return this.#bucket.objects;
  }

  /**
   * Stores a record, so that any program can carry it out, after the records of other
   * programs are carried out. The signal ends the work for other programs, but not the
   * request that stores the record.
   *
   * @param isFull Whether the record replaces all objects, whatever they are. It then
   * takes the place of records that cannot be carried out.
   * @param onRequest Called with whether the record may be stored if the method fails.
   */
  async commit(
    record: JournalRecord,
    isFull: boolean,
    options: StoreOptions,
    onRequest: (isStored: boolean) => void = () => {},
  ): Promise<BusyJournal> {
    const { objects } = this.#bucket;
    const bytes = encodeRecord(record, this.#key);
    for (;;) {
      options.signal?.throwIfAborted();
      const found = await findJournal(objects, this.#key, options);
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
        const etag = await putObject(objects, this.#key, bytes, condition, {});
        if (etag !== null) return { record, etag };
      } catch (error) {
        // The stored record may be that of this call, if a response was lost.
        if (error instanceof ConflictError) continue;
        // The request was sent once and refused, so that it has had no effect.
        const isRefused = error instanceof StatusError && !error.isRepeated &&
          error.status < 500;
        if (isRefused) onRequest(false);
        throw error;
      }
    }
  }

  /**
   * Carries out a record, and ends the journal. Any number of programs may do so at the
   * same time, and one that comes late changes nothing, except that it removes objects
   * with equal bytes that were stored between its check and its `DELETE`.
   *
   * @param isOwn Whether this program has stored the record. If so, and its work is done, it
   * is no error that the journal cannot be ended: the next program ends it.
   */
  async carryOut(
    found: BusyJournal,
    isOwn = false,
  ): Promise<Outcome> {
    const end = (done: BusyJournal) =>
      this.#end(done).catch((error) => {
        if (!isOwn) throw error;
      });
    for (let next: FoundJournal | undefined = found; isBusy(next);) {
      const { record }: BusyJournal = next;
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
      next = replaced ?? await findJournal(this.#objects, this.#key, {});
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
    const { first, generation } = record;
    let isStored = false;
    await settleUpload(this.#objects, first, "to be given up", async () => {
      const object = await tagOf(this.#objects, first.key, {});
      return isStored = comesFrom(object, generation);
    });
    if (isStored) return false;
    await revokeAll(this.#bucket, record);
    const found = await findJournal(this.#objects, this.#key, {});
    if (isBusy(found) && found.record.generation === generation) {
      await this.#end(found);
    }
    return true;
  }

  /** Stores the first object, if it replaces the one that the record expects. */
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
   * @returns `"all"` once they are in place; or the journal, in which a spoilt upload is
   * replaced; or `undefined` if another program has changed the journal.
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

  /** Whether another program has finished a write, after which a further write may have begun. */
  async #isOver(generation: string): Promise<boolean> {
    const found = await findJournal(this.#objects, this.#key, {});
    return found?.record?.generation !== generation;
  }

  /**
   * Puts another record of the same write in the place of a journal.
   *
   * @param upload The upload that is new in the record.
   */
  async #replace(
    { etag }: FoundJournal,
    record: JournalRecord,
    upload: PreparedUpload,
  ): Promise<FoundJournal | undefined> {
    const objects = this.#objects;
    const bytes = encodeRecord(record, this.#key);
    const condition = { "if-match": etag };
    try {
      const etag = await putObject(objects, this.#key, bytes, condition, {});
      if (etag !== null) return { record, etag };
    } catch (error) {
      if (!(error instanceof ConflictError)) {
        await abortUpload(objects, upload).catch(() => {});
        throw error;
      }
      // The stored record may be that of this call, if a response was lost.
      const found = await findJournal(objects, this.#key, {});
      const stored = found?.record;
      const isOwn = stored !== undefined && "others" in stored &&
        stored.others.some(({ id }) => id === upload.id);
      if (isOwn) return found;
      await abortUpload(objects, upload);
    }
  }

  /** Removes the objects of a record. Returns whether they were those that the record expects. */
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

  /** Removes a journal whose work is done, and the objects that keep its bytes. */
  async #end({ etag, record }: BusyJournal): Promise<void> {
    const objects = this.#objects;
    const condition = { "if-match": etag };
    try {
      if (this.#conditions.delete) {
        await deleteObject(objects, this.#key, condition, {});
      } else {
        const generation = crypto.randomUUID();
        const idle = { generation, key: record.key, isIdle: true } as const;
        const bytes = encodeRecord(idle, this.#key);
        await putObject(objects, this.#key, bytes, condition, {});
      }
    } catch (error) {
      // Another program has ended the journal.
      if (!(error instanceof ConflictError)) throw error;
    }
    for (const key of sourcesOf(record)) {
      await deleteObject(objects, key, {}, {});
    }
  }
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

/** Whether the objects of a chunk are those that a record expects. The record is carried out only then. */
async function isAsExpected(
  requests: RequestSender,
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
  let conditions: Conditions | undefined;
  for await (const object of listObjects(bucket, prefix, options)) {
    const { key } = object;
    const { name } = splitPath(key);
    if (!isTemporary(name)) continue;
    if (!isJournal(name)) {
      temporary.push(object);
      continue;
    }
    try {
      const found = await findJournal(objects, key, options);
      if (found && !found.record) throw unknownJournalError(key);
      if (!isBusy(found)) continue;
      const { record } = found;
      for (const source of sourcesOf(record)) needed.add(source);
      let isDone: boolean;
      if (dryRun) isDone = await isAsExpected(objects, record);
      else {
        conditions ??= await probeConditions(objects, options);
        const journal = new Journal(bucket, key, conditions);
        ({ isDone } = await journal.carryOut(found));
      }
      if (!isDone) continue; // The chunk keeps its objects, or those of another program.
      ("removed" in record ? deleted : written).push(record.key);
    } catch (error) {
      signal?.throwIfAborted();
      errors.push(error); // Thrown after the other chunks are recovered.
    }
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
  let files = 0;
  let bytes = 0;
  for (const { key, size, modified } of temporary) {
    // A program whose probe is removed probes the bucket again.
    const isLeft = isProbe(splitPath(key).name) || modified < Date.now() - OLD;
    if (!isLeft || needed.has(key)) continue;
    if (!dryRun) await deleteObject(objects, key, {}, options);
    files++;
    bytes += size;
  }
  return { written, deleted, temporary: { files, bytes } };
}
