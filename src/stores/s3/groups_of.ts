import { rejectOnAbort } from "../abort.ts";
import { KeyLocks } from "../key_locks.ts";
import { loadOnce } from "../load_once.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import type { StoreGroup } from "../store_group.ts";
import type { Bucket } from "./bucket.ts";
import { probeConditions } from "./conditions.ts";
import { S3Group } from "./group.ts";

/** Returns a function that makes the groups of a bucket. */
export function groupsOf(
  bucket: Bucket,
): (key: StoreKey, keys: readonly StoreKey[]) => StoreGroup {
  // Stores of whole chunks hold the locks of `KeyLocks.of` while they use these.
  const locks = new KeyLocks();
  const probe = loadOnce(() => probeConditions(bucket.objects, {}));
  const conditions = ({ signal }: StoreOptions) =>
    rejectOnAbort(probe(), signal);
  return (key, keys) => new S3Group({ bucket, locks, conditions }, key, keys);
}
