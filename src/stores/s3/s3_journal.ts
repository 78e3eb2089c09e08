import { PendingWriteError } from "../../errors/mod.ts";
import { decodeBase64 } from "../../runtime/mod.ts";
import type { HttpClient } from "../http/http_client.ts";
import { StatusError } from "../http/http_failures.ts";
import type { RecoverOptions, Recovery } from "../operations.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import {
  isJournal,
  isTemporary,
  journalName,
  mayBePart,
  splitPath,
} from "../store_key.ts";
import type { Bucket } from "./bucket.ts";
import {
  encodeRecord,
  type JournalRecord,
  type KeptUpload,
  parseRecord,
  type RemovalRecord,
  sourcesOf,
  targetsOf,
  type WriteRecord,
} from "./journal_record.ts";
import {
  ABSENT,
  type Conditions,
  ConflictError,
  deleteObject,
  etagIn,
  type ExtraHeaders,
  type ListedObject,
  listObjects,
  metadataOf,
  type ObjectTag,
  probeConditions,
  putObject,
  tagOf,
} from "./objects.ts";
import {
  abortUpload,
  completeUpload,
  type PreparedUpload,
  settleUpload,
  Upload,
  waitUntil,
} from "./uploads.ts";

/** A journal as it is stored. */
interface FoundJournal<R = JournalRecord | undefined> {
  readonly etag: string;
  /** The content of the journal; `undefined` if it cannot be understood. */
  readonly record: R;
}

/** A journal that describes work to be done. */
type BusyJournal = FoundJournal<WriteRecord | RemovalRecord>;

/** Whether a journal describes work that is to be done. */
export function isBusy(found: FoundJournal | undefined): found is BusyJournal {
  return found?.record !== undefined && !("isIdle" in found.record);
}

/** The result of carrying out a record. */
export interface Outcome {
  /** Whether its objects are in place, or removed. */
  readonly isDone: boolean;
  /** The first object, if that of the write is not in place. */
  readonly first?: ObjectTag;
  /** Why the first object could not be stored. */
  readonly cause?: Error;
}

/** How long other programs wait for a writer that has to check the present objects, in milliseconds. */
const PATIENCE = 5000;

/**
 * The journal of a chunk of several objects. The program that creates it has the right to
 * replace the objects. Programs that find it do the same work, so that none waits for
 * another, except for a check that only the writer can make.
 *
 * Each upload can be completed once, so that a program that comes late changes nothing.
 * An upload is completed, or given up and replaced in the journal, before the journal is
 * removed.
 */
export class Journal {
  readonly #requests: HttpClient;
  readonly #key: StoreKey;
  readonly #conditions: Conditions;
  readonly #isPart: IsPart;

  /**
   * @param key The key of the journal, as `journalKey` returns it.
   * @param isPart Whether a key is that of an object of the chunk. Records with others are not
   * carried out.
   */
  constructor(
    requests: HttpClient,
    key: StoreKey,
    conditions: Conditions,
    isPart: IsPart,
  ) {
    this.#requests = requests;
    this.#key = key;
    this.#conditions = conditions;
    this.#isPart = isPart;
  }

  async #find(options: StoreOptions): Promise<FoundJournal | undefined> {
    return await findJournal(
      this.#requests,
      this.#key,
      options,
      this.#isPart,
    );
  }

  /** Carries out the record of another program, if there is one. */
  async help(options: StoreOptions): Promise<void> {
    const found = await this.#find(options);
    if (isBusy(found)) await this.carryOut(found);
  }

  /**
   * Stores a record, and carries it out after those of other programs. The signal ends the
   * work for other programs, but not the request that stores the record.
   *
   * @param isWhole Whether the record replaces all objects, whatever they are. It then
   * takes the place of records that cannot be carried out.
   * @param check Checks the present objects once no other program changes them, if `base`
   * is `null`.
   * @throws {PendingWriteError} If the record may be stored, and is not carried out.
   */
  async run(
    record: WriteRecord | RemovalRecord,
    isWhole: boolean,
    { signal }: StoreOptions,
    check?: () => Promise<void>,
  ): Promise<Outcome> {
    const own = await this.#commit(record, isWhole, signal);
    try {
      await check?.();
    } catch (error) {
      await this.#giveUp(own).catch(() => {}); // Another program gives it up.
      throw error;
    }
    try {
      return await this.carryOut(own, true);
    } catch (cause) {
      throw new PendingWriteError(record.key, { cause });
    }
  }

  async #commit(
    record: WriteRecord | RemovalRecord,
    isWhole: boolean,
    signal: AbortSignal | undefined,
  ): Promise<BusyJournal> {
    let condition: ExtraHeaders = { "if-none-match": "*" };
    for (;;) {
      signal?.throwIfAborted();
      const stored = await this.#put(record, condition).catch((cause) => {
        // The request was sent once and refused, so that it has had no effect.
        const isRefused = cause instanceof StatusError && !cause.isRepeated &&
          cause.status < 500;
        if (isRefused) throw cause;
        throw new PendingWriteError(record.key, { cause });
      });
      if (stored) return stored;
      const found = await this.#find({});
      condition = found ? { "if-match": found.etag } : { "if-none-match": "*" };
      if (!isBusy(found)) continue;
      // The stored record is that of this call, if a response was lost.
      if (found.record.generation === record.generation) return found;
      try {
        await this.carryOut(found);
        condition = { "if-none-match": "*" };
      } catch (error) {
        if (!isWhole) throw error;
        await this.#revoke(found.record).catch(() => {
          throw error;
        });
      }
    }
  }

  /**
   * Carries out a record, and ends the journal. Any number of programs may do so at the
   * same time, and one that comes late changes nothing, except that it removes objects
   * with equal bytes that were stored between its check and its `DELETE`.
   *
   * @param isOwn Whether this program has stored the record, and checked the objects. If its
   * work is done, it is no error that the journal cannot be ended: the next program ends it.
   */
  async carryOut(found: BusyJournal, isOwn = false): Promise<Outcome> {
    const { record } = found;
    if ("removed" in record) {
      const isDone = await this.#remove(record);
      await this.#end(found, isOwn);
      return { isDone };
    }
    const { generation, base, first, others } = record;
    if (base !== "*" && !(isOwn && base === null)) {
      const present = base === null
        ? await this.#awaitWriter(record)
        : await tagOf(this.#requests, first.key);
      if (present.tag !== base && present.tag !== generation) {
        await this.#giveUp(found);
        return { isDone: false, first: present };
      }
    }
    for (const upload of [first, ...others]) {
      const { present, isOver, cause } = await this.#complete(
        upload,
        generation,
      );
      if (present.tag === generation) continue;
      if (upload === first) {
        await this.#giveUp(found);
        return { isDone: false, first: present, ...cause && { cause } };
      }
      const next = isOver
        ? undefined
        : await this.#replace(found, record, upload as KeptUpload);
      const isSame = isBusy(next) && next.record.generation === generation;
      return isSame ? await this.carryOut(next, isOwn) : { isDone: true };
    }
    await this.#end(found, isOwn);
    return { isDone: true };
  }

  /** Gives up a write none of whose objects is in place, or can be. */
  async #giveUp(found: BusyJournal): Promise<void> {
    await this.#revoke(found.record);
    await this.#end(found);
  }

  /** Gives up all uploads of a record, so that no program completes them later. */
  async #revoke(record: JournalRecord): Promise<void> {
    if (!("first" in record)) return;
    for (const upload of [record.first, ...record.others]) {
      await abortUpload(this.#requests, upload);
    }
  }

  /**
   * Waits until the writer of a record has checked the present objects, or else gives up
   * its first upload. Returns the tag of the first object.
   */
  async #awaitWriter({ first, generation }: WriteRecord): Promise<ObjectTag> {
    let present = ABSENT;
    const isDecided = async () => {
      present = await tagOf(this.#requests, first.key);
      return present.tag === generation || await this.#isOver(generation);
    };
    if (!await isDecided() && !await waitUntil(isDecided, PATIENCE)) {
      await settleUpload(this.#requests, first, GIVEN_UP, isDecided);
    }
    return present;
  }

  /** Completes an upload, and looks whether its object is in place, or another program has ended the journal. */
  async #complete(
    upload: PreparedUpload,
    generation: string,
  ): Promise<{ present: ObjectTag; isOver: boolean; cause?: Error }> {
    const requests = this.#requests;
    const cause = await completeUpload(requests, upload);
    let present = ABSENT;
    let isOver = false;
    await settleUpload(requests, upload, cause, async () => {
      present = await tagOf(requests, upload.key);
      if (present.tag === generation) return true;
      return isOver = await this.#isOver(generation);
    });
    // The other program may have stored the object after the look.
    if (isOver) present = await tagOf(requests, upload.key);
    return { present, isOver, ...cause && { cause } };
  }

  /** Whether another program has finished a write, after which a further write may have begun. */
  async #isOver(generation: string): Promise<boolean> {
    const found = await this.#find({});
    return found?.record?.generation !== generation;
  }

  /** Replaces a spoilt upload in a journal by another one of the same bytes. Returns the journal that is there then. */
  async #replace(
    { etag }: FoundJournal,
    record: WriteRecord,
    spoilt: KeptUpload,
  ): Promise<FoundJournal | undefined> {
    const requests = this.#requests;
    const { key, source } = spoilt;
    const bytes = "base64" in source
      ? decodeBase64(source.base64)
      : await readObject(requests, source.from);
    if (bytes === undefined) {
      throw new Error(
        `Cannot finish the write of ${
          JSON.stringify(key)
        }: the service has spoilt its upload, and its bytes are gone; write the whole chunk`,
      );
    }
    const metadata = metadataOf(record.generation, true);
    const target = { objects: requests, pieceSize: Infinity };
    const sent = new Upload(target, key, metadata);
    let found: FoundJournal | undefined;
    let upload: PreparedUpload;
    try {
      await sent.write(bytes);
      upload = await sent.prepare();
      const kept = { ...upload, source };
      const others = record.others.map((other) =>
        other === spoilt ? kept : other
      );
      found = await this.#put({ ...record, others }, { "if-match": etag }) ??
        await this.#find({});
    } catch (error) {
      await sent.abort().catch(() => {});
      throw error;
    }
    const isNamed = isBusy(found) && "others" in found.record &&
      found.record.others.some(({ id }) => id === upload.id);
    if (!isNamed) await abortUpload(requests, upload);
    return found;
  }

  /** Stores a record. Returns `undefined` if the condition does not hold, or if the service does not tell the ETag. */
  async #put<R extends JournalRecord>(
    record: R,
    condition: ExtraHeaders,
  ): Promise<FoundJournal<R> | undefined> {
    const bytes = encodeRecord(record, this.#key);
    try {
      const etag = await putObject(
        this.#requests,
        this.#key,
        bytes,
        condition,
      );
      return etag === null ? undefined : { etag, record };
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
    }
  }

  /** Removes the objects of a record. Returns whether they were those that the record expects. */
  async #remove(record: RemovalRecord): Promise<boolean> {
    if (!await isAsExpected(this.#requests, record)) return false;
    for (const { key, etag } of record.removed) {
      if (etag === undefined) continue;
      try {
        await deleteObject(this.#requests, key, { "if-match": etag });
      } catch (error) {
        // The object has been replaced since it was checked.
        if (!(error instanceof ConflictError)) throw error;
      }
    }
    return true;
  }

  /** Removes a journal whose work is done, unless another program has ended it. */
  async #end({ etag, record }: BusyJournal, mayFail = false): Promise<void> {
    const condition = { "if-match": etag };
    try {
      if (this.#conditions.delete) {
        await deleteObject(this.#requests, this.#key, condition);
      } else {
        const generation = crypto.randomUUID();
        await this.#put(
          { generation, key: record.key, isIdle: true },
          condition,
        );
      }
      for (const key of sourcesOf(record)) {
        await deleteObject(this.#requests, key);
      }
    } catch (error) {
      if (!(error instanceof ConflictError || mayFail)) throw error;
    }
  }
}

/** The reason to give up an upload that nothing has spoilt. */
const GIVEN_UP = new Error("The upload is given up");

/** The key of the journal of a chunk, beside the chunk. */
export async function journalKey(key: StoreKey): Promise<StoreKey> {
  const { folder, name } = splitPath(key);
  return `${folder}/${await journalName(name)}` as StoreKey;
}

/** Whether a key is that of an object of a chunk. */
type IsPart = (chunk: StoreKey, key: StoreKey) => boolean;

/**
 * Reads the journal under a key; `undefined` if there is none. A record that names other
 * objects than those of its chunk, as it may have come with the objects of somebody else, is
 * not understood.
 */
export async function findJournal(
  requests: HttpClient,
  key: StoreKey,
  options: StoreOptions,
  isPart: IsPart,
): Promise<FoundJournal | undefined> {
  return await requests.send(key, options, [200], {}, async (response) => {
    const bytes = await response.bytesUpTo(Infinity);
    const etag = etagIn(response.headers, key);
    const record = parseRecord(bytes!, key);
    const isOwn = record !== undefined &&
      await journalKey(record.key) === key &&
      targetsOf(record).every((target) => isPart(record.key, target)) &&
      sourcesOf(record).every((source) => isTemporary(splitPath(source).name));
    return { etag, record: isOwn ? record : undefined };
  });
}

/** The error for a journal that cannot be understood. */
export function unknownJournalError(key: StoreKey): Error {
  return new Error(
    `Expected a journal of this version of the package, which names objects of its chunk alone, at ${
      JSON.stringify(key)
    }, found another value: write the whole chunk, which replaces it, or remove it if no program writes the chunk`,
  );
}

async function readObject(
  requests: HttpClient,
  key: StoreKey,
): Promise<Uint8Array | undefined> {
  return await requests.send(
    key,
    {},
    [200],
    {},
    (response) => response.bytesUpTo(Infinity),
  );
}

/** Whether the objects of a chunk are those that a record expects. The record is carried out only then. */
async function isAsExpected(
  requests: HttpClient,
  record: WriteRecord | RemovalRecord,
): Promise<boolean> {
  if ("removed" in record) {
    // An object of another write has the same ETag if it has the same bytes.
    for (const { key, tag } of record.removed) {
      const found = await tagOf(requests, key);
      if (found.tag !== tag && found !== ABSENT) return false;
    }
    return true;
  }
  const { base, generation, first } = record;
  if (base === "*") return true;
  const { tag } = await tagOf(requests, first.key);
  return tag === base || tag === generation;
}

/**
 * The age in milliseconds from which temporary objects are removed that no journal names:
 * those that tell which conditions a service heeds, and those in which earlier releases keep
 * the bytes of a chunk while it is stored.
 */
const OLD = 24 * 60 * 60 * 1000;

/** Carries out the journals in a bucket, as `recover` does. With `dryRun`, nothing is changed. */
export async function recoverBucket(
  bucket: Bucket,
  { path = "", dryRun = false, signal, isPart = mayBePart }: RecoverOptions,
): Promise<Recovery> {
  const options = signal ? { signal } : {};
  const { objects } = bucket;
  const names = path.split("/").filter((name) => name !== "");
  const prefix = ["", ...names, ""].join("/");
  const written: StoreKey[] = [];
  const deleted: StoreKey[] = [];
  const errors: unknown[] = [];
  const others: ListedObject[] = [];
  const needed = new Set<StoreKey>();
  let conditions: Conditions | undefined;
  for await (const object of listObjects(bucket, prefix, options)) {
    const { key } = object;
    const { name } = splitPath(key);
    if (isTemporary(name) && !isJournal(name)) others.push(object);
    if (!isJournal(name)) continue;
    try {
      const found = await findJournal(objects, key, options, isPart);
      if (found && !found.record) throw unknownJournalError(key);
      if (!isBusy(found)) continue;
      const { record } = found;
      for (const source of sourcesOf(record)) needed.add(source);
      let isDone: boolean;
      if (dryRun) isDone = await isAsExpected(objects, record);
      else {
        conditions ??= await probeConditions(objects, options);
        const journal = new Journal(objects, key, conditions, isPart);
        ({ isDone } = await journal.carryOut(found));
      }
      // Else the chunk keeps its objects, or those of another program.
      if (isDone) ("removed" in record ? deleted : written).push(record.key);
    } catch (error) {
      signal?.throwIfAborted();
      errors.push(error); // Thrown after the other chunks are recovered.
    }
  }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) {
    throw new AggregateError(
      errors,
      `Cannot recover ${errors.length} chunks in ${bucket.url}: ${
        (errors[0] as Error).message
      }`,
    );
  }
  const left = others.filter(({ key, modified }) =>
    modified < Date.now() - OLD && !needed.has(key)
  );
  if (!dryRun) {
    for (const { key } of left) await deleteObject(objects, key, {}, options);
  }
  const bytes = left.reduce((sum, { size }) => sum + size, 0);
  return { written, deleted, temporary: { files: left.length, bytes } };
}
