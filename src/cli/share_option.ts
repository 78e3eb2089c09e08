import type { Share } from "../arrays/mod.ts";
import {
  type Arguments,
  type Command,
  UsageError,
  wholeNumber,
} from "./command.ts";

/** The option for the number of chunks that are processed at once. */
export const CONCURRENCY_OPTION: Command["options"] = {
  "--concurrency <N>": "process N chunks at once; 4 by default",
};

/** The options that choose a share of the work, and the number of chunks at once. */
export const SHARE_OPTIONS: Command["options"] = {
  "--share <K/N>": "do share K of N equal shares of the work, K from 1 to N",
  ...CONCURRENCY_OPTION,
};

/** The option of the last step, after all shares. */
export const FINISH_OPTION: Command["options"] = {
  "--finish": "check that all shares are done, and write the metadata",
};

/** The advice that follows the work on a share. */
export const ALL_SHARES =
  "When all shares are done, run the command with --finish in place of --share";

/** Parses `--share K/N`. A single share is all of the work. */
export function shareOf(args: Arguments): Share | undefined {
  const text = args.text("share");
  if (text === undefined) return undefined;
  const [, number, count] = /^(\d+)\/(\d+)$/.exec(text) ?? [];
  const isShare = Number(number) >= 1 && Number(number) <= Number(count);
  if (!isShare) {
    throw new UsageError(
      `Expected --share=K/N with K from 1 to N, such as 3/16, found ${
        JSON.stringify(text)
      }`,
    );
  }
  return count === "1"
    ? undefined
    : { index: Number(number) - 1, count: Number(count) };
}

/** Parses `--concurrency N`. */
export function concurrencyOf(args: Arguments): number | undefined {
  return wholeNumber(args, "concurrency", 1);
}
