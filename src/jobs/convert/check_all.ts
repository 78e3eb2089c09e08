import { describe } from "../../metadata/describe.ts";
import { type ConvertCounts, NOTHING_DONE, report } from "./convert_counts.ts";
import type { ConvertOptions } from "../plan/convert_options.ts";
import type { ConvertPlan } from "../plan/convert_plan.ts";
import type { ConvertWork } from "./convert_work.ts";
import { isRight } from "./copy_value.ts";
import { describePlace } from "../hierarchy/node_location.ts";
import { runConcurrently } from "../run_concurrently.ts";

/** The number of missing chunks that a message names. */
const MOST_NAMED = 3;

/** Checks that the target has all values. */
export async function checkAll(
  { target }: ConvertPlan,
  work: ConvertWork,
  options: ConvertOptions,
): Promise<ConvertCounts> {
  const done = { ...NOTHING_DONE };
  const missing: string[] = [];
  let count = 0;
  await runConcurrently(
    work,
    options.concurrency ?? 4,
    async (item, signal) => {
      const { from, to, contain } = item;
      const size = contain
        ? sizeOf(await from.get({ signal }), contain)
        : await from.size({ signal });
      if (size === undefined) done.absent++;
      else if (await isRight(from, to, size, "same size", { signal })) {
        done.skipped++;
      } else if (count++ < MOST_NAMED) missing.push(describe(to.key));
      report(work, done, options);
    },
    options.signal,
  );
  if (count === 0) return done;
  throw new Error(
    `Cannot finish the conversion to ${
      describePlace(target)
    }: it lacks ${count} of ${work.total} chunks and files, such as ${
      missing.join(", ")
    }; run their shares again`,
  );
}

/** The length of a value once it is changed. */
function sizeOf(
  bytes: Uint8Array | undefined,
  change: (bytes: Uint8Array) => Uint8Array,
): number | undefined {
  return bytes && change(bytes).length;
}
