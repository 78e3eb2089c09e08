import type { Share } from "../arrays/share.ts";
import {
  type Arguments,
  type CommandOption,
  type Io,
  UsageError,
} from "./command.ts";
import { schedulerShare } from "./scheduler_share.ts";

/** The option that says how many chunks are worked on at once. */
export const CONCURRENCY_OPTION: Readonly<Record<string, CommandOption>> = {
  concurrency: {
    type: "string",
    value: "N",
    help: "work on N chunks at once; 4 if not given",
  },
};

/** The options that say which share of the work is done. */
export const SHARE_ONLY_OPTIONS: Readonly<Record<string, CommandOption>> = {
  share: {
    type: "string",
    value: "K/N",
    help:
      "do one of N equal shares of the work, K from 1 to N; if not given, Slurm's variables say it",
  },
  shares: {
    type: "string",
    value: "N",
    help:
      "the number of shares, for indexed jobs of Kubernetes and array jobs of AWS Batch",
  },
};

/** The options that say which share of the work is done, and how much of it at once. */
export const SHARE_OPTIONS: Readonly<Record<string, CommandOption>> = {
  ...SHARE_ONLY_OPTIONS,
  ...CONCURRENCY_OPTION,
};

/** The option of the last step, after all shares. */
export const FINISH_OPTION: Readonly<Record<string, CommandOption>> = {
  finish: {
    type: "boolean",
    help: "check that all shares are done, and write the metadata",
  },
};

/** The advice that follows the work on a share. */
export const ALL_SHARES =
  "When all shares are done, run the command with --finish in place of --share";

/** Returns the share of the options, or else that of the scheduler, and prints the latter. `--finish` takes no share. */
export function shareOf(args: Arguments, io: Io): Share | undefined {
  if (args.has("finish")) return undefined;
  const text = args.text("share");
  if (text === undefined) return schedulersShare(args, io);
  const [, number, count] = /^(\d+)\/(\d+)$/.exec(text) ?? [];
  const isShare = Number(number) >= 1 && Number(number) <= Number(count);
  if (!isShare) {
    throw new UsageError(
      `Expected --share=K/N with K from 1 to N, such as 3/16, found ${
        JSON.stringify(text)
      }`,
    );
  }
  // The only share is all of the work.
  return count === "1"
    ? undefined
    : { index: Number(number) - 1, count: Number(count) };
}

function schedulersShare(args: Arguments, io: Io): Share | undefined {
  const given = schedulerShare(
    (name) => Deno.env.get(name),
    numberOf(args, "shares"),
  );
  if (given === undefined) return undefined;
  const { share: { index, count }, variable } = given;
  if (!args.has("quiet")) {
    io.note(`Share ${index + 1} of ${count}, by ${variable}\n`);
  }
  return given.share;
}

/** Parses `--concurrency N`. */
export function concurrencyOf(args: Arguments): number | undefined {
  return numberOf(args, "concurrency");
}

function numberOf(args: Arguments, name: string): number | undefined {
  const text = args.text(name);
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,7}$/.test(text)) return Number(text);
  throw new UsageError(
    `Expected --${name}=N with a whole number from 1, found ${
      JSON.stringify(text)
    }`,
  );
}
