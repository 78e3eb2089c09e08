/** The modules that programs do not need to read objects of buckets by their keys. */
export { fetchRangeOf } from "../http/group.ts";
export { groupsOf } from "./groups_of.ts";
export { listKeys } from "./listing.ts";
export { deleteObject } from "./objects.ts";
export { recoverBucket } from "./recover_bucket.ts";
export { storeObject } from "./store_object.ts";
