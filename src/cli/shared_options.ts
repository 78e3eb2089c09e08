import type { Share } from "../arrays/mod.ts";
import { type CodecRegistry, registerCodecs } from "../codecs/mod.ts";
import type { Finding, VerifyOptions } from "../jobs/mod.ts";
import { oneOf, type OptionGroup, valueOf, wholeNumber } from "./command.ts";

/** The options that choose nodes of a group, which may be repeated. */
export const NODES = {
  options: {
    "--only <GLOB>":
      "choose only these nodes of a group and those below, such as 'labels/**'; repeatable",
    "--exclude <GLOB>":
      "leave out these nodes of a group and those below; repeatable",
  },
  read(args): { only?: readonly string[]; exclude?: readonly string[] } {
    const [only, exclude] = [args.texts("only"), args.texts("exclude")];
    return {
      ...only.length > 0 && { only },
      ...exclude.length > 0 && { exclude },
    };
  },
} satisfies OptionGroup;

/** The option of commands that read a source. */
export const SOURCE = {
  options: {
    "--follow-links":
      "follow symbolic links that lead out of the folder, as in DataLad",
  },
};

/** The option that chooses a share of the work. */
export const SHARE = {
  options: {
    "--share <K/N>": "do share K of N equal shares of the work, K from 1 to N",
  },
  read(args): { share?: Share } {
    const form = "=K/N with K from 1 to N, such as 3/16";
    const share = valueOf(args, "share", form, (text) => {
      const [, number, count] = /^(\d+)\/(\d+)$/.exec(text)?.map(Number) ?? [];
      const isShare = number! >= 1 && number! <= count!;
      return isShare ? { index: number! - 1, count: count! } : undefined;
    });
    // A single share is all of the work.
    return share === undefined || share.count === 1 ? {} : { share };
  },
} satisfies OptionGroup;

/** The most threads of a pool. */
const MOST_THREADS = 1024;

/** The option for the number of threads that decode and encode. */
export const THREADS = {
  options: {
    "--threads <N>":
      "decode and encode in N threads, 0 for none; by default, one for each processor",
  },
  read(args): { threads?: number } {
    wholeNumber(args, "threads");
    const form = `=N with a whole number up to ${MOST_THREADS}`;
    const threads = valueOf(
      args,
      "threads",
      form,
      (text) => Number(text) <= MOST_THREADS ? Number(text) : undefined,
    );
    return threads === undefined ? {} : { threads };
  },
} satisfies OptionGroup;

/** The severities, from the greatest one. */
const SEVERITIES: readonly Finding["severity"][] = ["error", "warning", "note"];

/** The option for the findings that make the exit status 1. */
export const FAIL_ON = {
  options: {
    "--fail-on <SEVERITY>":
      "the least severity that makes the exit status 1: error (the default), warning or note",
  },
  /** Returns a function that returns whether a finding makes the exit status 1. */
  read(args): (finding: Finding) => boolean {
    const least = oneOf(args, "fail-on", SEVERITIES) ?? "error";
    const failing = SEVERITIES.slice(0, SEVERITIES.indexOf(least) + 1);
    return ({ severity }) => failing.includes(severity);
  },
} satisfies OptionGroup;

/** The specifier of zarrita, which is no import of this package, for commands and pages. */
export const ZARRITA: string = "npm:zarrita@0.7.5";

/** The codecs of zarrita, which is loaded for the first array that needs one of them. */
export const CODECS: NonNullable<VerifyOptions["codecs"]> = {
  get: (name) => async () => {
    loading ??= import(ZARRITA).then(({ registry }) => {
      registerCodecs(registry);
      return registry;
    }, () => undefined);
    // Without zarrita, which may be out of reach, chunks count as not decoded.
    return await (await loading)?.get(name)?.();
  },
};

let loading: Promise<CodecRegistry | undefined> | undefined;
