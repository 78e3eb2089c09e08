import { describe } from "../../metadata/describe.ts";
import { ChunkCheck } from "../chunks/chunk_checks.ts";
import type { Claim } from "./claim_target.ts";
import { type ConvertCounts, NOTHING_DONE, report } from "./convert_counts.ts";
import type { ConvertOptions } from "../plan/convert_options.ts";
import type { ConvertPlan } from "../plan/convert_plan.ts";
import type { ConvertWork, WorkItem } from "./convert_work.ts";
import { type Copied, copyValue } from "./copy_value.ts";
import { runConcurrently } from "../run_concurrently.ts";
import { SourceStamps } from "./source_stamps.ts";
import { assertStillMarked } from "../plan/unfinished_marker.ts";

/** The time between two looks at whether another run has taken the place of this one, in milliseconds. */
const CLAIM_PERIOD = 2000;

/** Copies all values, and counts what happened. */
export async function copyAll(
  plan: ConvertPlan,
  work: ConvertWork,
  { marker }: Claim,
  options: ConvertOptions,
): Promise<ConvertCounts> {
  const { source, target } = plan;
  const done = { ...NOTHING_DONE };
  const stamps = new SourceStamps(source.store);
  const skip = options.resume === "compare"
    ? "same bytes"
    : options.resume || options.share
    ? "same size"
    : undefined;
  let checkedAt = performance.now();
  await runConcurrently(
    work,
    options.concurrency ?? 4,
    async (item, signal) => {
      if (marker && performance.now() - checkedAt > CLAIM_PERIOD) {
        checkedAt = performance.now();
        await assertStillMarked(target, marker, { signal });
      }
      await stamps.take(item, { signal });
      const { outcome, bytes } = await copyItem(item, skip, signal);
      done[outcome]++;
      done.bytes += bytes;
      report(work, done, options);
    },
    options.signal,
  );
  await stamps.check(plan, work, options);
  return done;
}

async function copyItem(
  { from, to, checks, contain, copyFiles, isListed }: WorkItem,
  skip: "same size" | "same bytes" | undefined,
  signal: AbortSignal,
): Promise<Copied> {
  const copied = await copyValue(from, to, {
    skip,
    change: contain,
    ...copyFiles && { copyFiles },
    ...checks && {
      check: (size: number) => new ChunkCheck(checks, from.key, size),
    },
  }, signal);
  if (copied.outcome !== "absent") return copied;
  if (isListed) {
    throw new Error(
      `${
        describe(from.key)
      } was listed and is absent now: the source is being changed; run the conversion again when nobody writes`,
    );
  }
  // An earlier run may have found the chunk.
  if (skip && await to.size({ signal }) !== undefined) {
    await to.delete({ signal });
  }
  return copied;
}
