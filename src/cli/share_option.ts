import type { Share } from "../jobs/share.ts";
import { type Arguments, UsageError } from "./command.ts";

/** The help of the option `--share`. */
export const SHARE_HELP =
  "do one of N equal shares of the work, K from 1 to N; all shares are the same in every program";

/** Parses `--share K/N`. */
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
  return { index: Number(number) - 1, count: Number(count) };
}

/** Parses `--concurrency N`. */
export function concurrencyOf(args: Arguments): number | undefined {
  const text = args.text("concurrency");
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new UsageError(
    `Expected --concurrency=N with a whole number from 1, found ${
      JSON.stringify(text)
    }`,
  );
}
