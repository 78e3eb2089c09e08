import { write } from "../../stores/capabilities.ts";
import type { StoreOptions } from "../../stores/store.ts";
import type { Claim } from "./claim_target.ts";
import type { ConvertOptions } from "../plan/convert_options.ts";
import {
  type ConvertPlan,
  fingerprintOf,
  type ListedSource,
} from "../plan/convert_plan.ts";
import { isSameBytes } from "../../stores/is_same_file.ts";
import { describePlace, documentKey } from "../hierarchy/node_location.ts";
import { removeStaleChunks } from "./stale_chunks.ts";
import { assertStillMarked, removeMarker } from "../plan/unfinished_marker.ts";

/**
 * Writes the documents of the target, the outermost one last, and removes the marker. From
 * then on, the target opens.
 *
 * @throws {Error} If the source has changed, or another program has claimed the target.
 */
export async function finishConversion(
  plan: ConvertPlan,
  listed: ListedSource,
  { marker }: Claim,
  options: ConvertOptions,
): Promise<void> {
  const { target, documents } = plan;
  await assertUnchanged(plan, listed, options);
  // Without a marker, the target was finished before, with the same documents.
  if (marker === undefined) return;
  await assertStillMarked(target, marker, options);
  if (options.resume || options.finish) {
    const { signal } = options;
    await removeStaleChunks(plan, signal ? { signal } : {});
  }
  for (const [path, bytes] of documents) {
    await write(target.store, documentKey(target, path), bytes, options);
  }
  await removeMarker(target, options);
}

/** Throws if a document of the source, or its list of chunks and files, is another one now. */
async function assertUnchanged(
  plan: ConvertPlan,
  { fingerprint }: ListedSource,
  options: StoreOptions,
): Promise<void> {
  const { source, nodes } = plan;
  for (const { path, bytes } of nodes) {
    const key = documentKey(source, path);
    const found = await source.store.get(key, options);
    if (found === undefined || !isSameBytes(found, bytes)) throw changed(plan);
  }
  if (fingerprint === undefined) return;
  if (await fingerprintOf(plan, options) !== fingerprint) throw changed(plan);
}

/** An error about a source that is another one now. */
export function changed({ source, target }: ConvertPlan): Error {
  return new Error(
    `${
      describePlace(source)
    } has changed while it was converted, and the conversion to ${
      describePlace(target)
    } is left unfinished; run it again with the option "overwrite" when nobody writes`,
  );
}
