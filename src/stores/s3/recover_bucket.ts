import type { RecoverOptions, Recovery } from "../recover.ts";
import type { StoreKey } from "../store.ts";
import type { Bucket } from "./bucket.ts";
import { probeConditions } from "./conditions.ts";
import { findJournal, isAsExpected, Journal } from "./journal.ts";
import { isJournalKey } from "./journal_key.ts";
import { listAll } from "./listing.ts";

/** Carries out the journals in a bucket, as `recover` does. With `dryRun`, nothing is changed. */
export async function recoverBucket(
  bucket: Bucket,
  { path = "", dryRun = false, signal }: RecoverOptions,
): Promise<Recovery> {
  const options = signal ? { signal } : {};
  const names = path.split("/").filter((name) => name !== "");
  const prefix = ["", ...names, ""].join("/");
  const written: StoreKey[] = [];
  const deleted: StoreKey[] = [];
  let conditions;
  for await (const place of listAll(bucket, prefix, options)) {
    if (!isJournalKey(place)) continue;
    const found = await findJournal(bucket.objects, place, options);
    if (found === undefined || "isIdle" in found.record) continue;
    const { record } = found;
    let isExpected: boolean;
    if (dryRun) isExpected = await isAsExpected(bucket.objects, record);
    else {
      conditions ??= await probeConditions(bucket.objects, options);
      const journal = new Journal(bucket.objects, place, conditions);
      isExpected = await journal.carryOut(found);
    }
    if (!isExpected) continue; // The chunk keeps the write of another program.
    ("removed" in record ? deleted : written).push(record.key);
  }
  return { written, deleted, temporary: { files: 0, bytes: 0 } };
}
