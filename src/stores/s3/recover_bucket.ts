import type { RecoverOptions, Recovery } from "../recover.ts";
import type { StoreKey } from "../store.ts";
import type { Bucket } from "./bucket.ts";
import { probeConditions } from "./conditions.ts";
import {
  findJournal,
  isAsExpected,
  isBusy,
  Journal,
  sourcesOf,
  unknownJournal,
} from "./journal.ts";
import { isJournalKey, isProbeKey, isTemporaryKey } from "./journal_key.ts";
import { listAll, type ListedObject } from "./listing.ts";
import { deleteObject } from "./objects.ts";

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
