import type { Share } from "../arrays/mod.ts";
import { type CodecRegistry, registerCodecs } from "../codecs/mod.ts";
import type { Finding, VerifyOptions } from "../jobs/mod.ts";
import {
  type Arguments,
  type Command,
  oneOf,
  valueOf,
  wholeNumber,
} from "./command.ts";
import { MODULES } from "./page/modules.ts";

/** The options that choose nodes of a group, which may be repeated. */
export const NODE_OPTIONS: Command["options"] = {
  "--only <GLOB>":
    "choose only these nodes of a group and those below, such as 'labels/**'; repeatable",
  "--exclude <GLOB>":
    "leave out these nodes of a group and those below; repeatable",
};

/** The nodes that `--only` and `--exclude` choose. */
export function chosenNodes(
  args: Arguments,
): { only?: readonly string[]; exclude?: readonly string[] } {
  const [only, exclude] = [args.texts("only"), args.texts("exclude")];
  return {
    ...only.length > 0 && { only },
    ...exclude.length > 0 && { exclude },
  };
}

/** The option of commands that read a source. */
export const SOURCE_OPTIONS: Command["options"] = {
  "--follow-links":
    "follow symbolic links that lead out of the folder, as in DataLad",
};

/** The option that chooses a share of the work. */
export const SHARE_OPTION: Command["options"] = {
  "--share <K/N>": "do share K of N equal shares of the work, K from 1 to N",
};

/** Parses `--share K/N`. A single share is all of the work. */
export function shareOf(args: Arguments): Share | undefined {
  const share = valueOf(
    args,
    "share",
    "=K/N with K from 1 to N, such as 3/16",
    (text) => {
      const [, number, count] = /^(\d+)\/(\d+)$/.exec(text)?.map(Number) ?? [];
      const isShare = number! >= 1 && number! <= count!;
      return isShare ? { index: number! - 1, count: count! } : undefined;
    },
  );
  return share?.count === 1 ? undefined : share;
}

/** The option for the number of threads that decode and encode. */
export const THREADS_OPTION: Command["options"] = {
  "--threads <N>":
    "decode and encode in N threads, 0 for none; by default, one for each processor",
};

/** The most threads of a pool. */
const MOST_THREADS = 1024;

/** Parses `--threads N`. */
export function threadsOf(args: Arguments): number | undefined {
  wholeNumber(args, "threads");
  return valueOf(
    args,
    "threads",
    `=N with a whole number up to ${MOST_THREADS}`,
    (text) => Number(text) <= MOST_THREADS ? Number(text) : undefined,
  );
}

/** The severities, from the greatest one. */
const SEVERITIES: readonly Finding["severity"][] = ["error", "warning", "note"];

/** The option for the findings that make the exit status 1. */
export const FAIL_ON_OPTION: Command["options"] = {
  "--fail-on <SEVERITY>":
    "the least severity that makes the exit status 1: error (the default), warning or note",
};

/** Returns a function that returns whether a finding makes the exit status 1. */
export function failsOn(args: Arguments): (finding: Finding) => boolean {
  const least = oneOf(args, "fail-on", SEVERITIES) ?? "error";
  const failing = SEVERITIES.slice(0, SEVERITIES.indexOf(least) + 1);
  return ({ severity }) => failing.includes(severity);
}

/** The codecs of zarrita, which is loaded for the first array that needs one of them. */
export const CODECS: NonNullable<VerifyOptions["codecs"]> = {
  get: (name) => async () => {
    loading ??= loadRegistry();
    return await (await loading)?.get(name)?.();
  },
};

let loading: Promise<CodecRegistry | undefined> | undefined;

async function loadRegistry(): Promise<CodecRegistry | undefined> {
  try {
    // The specifier is computed, since zarrita is no import of this package. Pages run the same version.
    const specifier = MODULES.get("zarrita")!;
    const { registry } = await import(specifier);
    registerCodecs(registry);
    return registry;
  } catch {
    return undefined; // zarrita is not installed, and npm is out of reach: chunks count as not decoded.
  }
}
