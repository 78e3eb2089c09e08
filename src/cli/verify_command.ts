import { type CodecRegistry, registerCodecs } from "../codecs/mod.ts";
import {
  type Finding,
  type Verification,
  verify,
  type VerifyOptions,
} from "../jobs/mod.ts";
import {
  type Arguments,
  type Command,
  UsageError,
  wholeNumber,
} from "./command.ts";
import { countText, existing, ProgressLine, unitsText } from "./format.ts";
import { openSource, SOURCE_OPTIONS } from "./open_source.ts";
import { withOptionNames } from "./messages.ts";
import {
  chosenNodes,
  NODE_OPTION_NAMES,
  NODE_OPTIONS,
} from "./layout_arguments.ts";
import { MODULES } from "./page/assets.ts";
import { concurrencyOf, SHARE_OPTIONS, shareOf } from "./share_option.ts";
import { printJson } from "./outputs.ts";

/** The option for the number of threads that decode. */
export const THREADS_OPTION: Command["options"] = {
  "--threads <N>":
    "with --deep, decode in N threads, 0 for none; by default, one for each processor",
};

/** The most threads of a pool. */
const MOST_THREADS = 1024;

/** Parses `--threads N`. */
export function threadsOf(args: Arguments): number | undefined {
  const threads = wholeNumber(args, "threads", 0);
  if (threads === undefined || threads <= MOST_THREADS) return threads;
  throw new UsageError(
    `Expected --threads=N with a whole number up to ${MOST_THREADS}, found "${threads}"`,
  );
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

/** The severities, from the least one. */
const SEVERITIES: readonly Finding["severity"][] = ["note", "warning", "error"];

/** The option for the findings that make the exit status 1. */
export const FAIL_ON_OPTION: Command["options"] = {
  "--fail-on <SEVERITY>":
    "the least severity that makes the exit status 1: error (the default), warning or note",
};

/** Returns a function that returns whether a finding makes the exit status 1. */
export function failsOn(args: Arguments): (finding: Finding) => boolean {
  const least = args.text("fail-on") ?? "error";
  const rank = SEVERITIES.indexOf(least as Finding["severity"]);
  if (rank < 0) {
    throw new UsageError(
      `Expected --fail-on=error, warning or note, found ${
        JSON.stringify(least)
      }`,
    );
  }
  return ({ severity }) => SEVERITIES.indexOf(severity) >= rank;
}

/** `zarr-parts verify PATH|URL` */
export const VERIFY: Command = {
  name: "verify",
  operands: ["PATH|URL"],
  summary:
    "Checks the documents, parts, checksums and shard indexes of an array or a group, also in a zip archive, and prints a line for each finding. The exit status is 1 if there are errors.",
  options: {
    "--deep": "decode all chunks and inner chunks",
    ...NODE_OPTIONS,
    ...SOURCE_OPTIONS,
    "--keep-going": "continue after values that the store fails to read",
    ...FAIL_ON_OPTION,
    ...SHARE_OPTIONS,
    ...THREADS_OPTION,
  },
  repeatable: NODE_OPTION_NAMES,
  examples: [
    "zarr-parts verify data.zarr",
    "zarr-parts verify image.ome.zarr --exclude 0",
    "zarr-parts verify https://example.com/data.zarr --deep --json",
  ],
  async run(args, io) {
    const fails = failsOn(args);
    const [place] = args.operands as [string];
    const [share, concurrency] = [shareOf(args), concurrencyOf(args)];
    const threads = threadsOf(args);
    const store = await openSource(place, io, {
      followLinks: args.has("follow-links"),
      isQuiet: args.has("quiet"),
    });
    const progress = new ProgressLine(io, args.has("quiet"));
    const isText = !args.has("json");
    let hasFailed = false;
    const result = await verify(store, "", {
      ...chosenNodes(args),
      deep: args.has("deep"),
      codecs: CODECS,
      keepGoing: args.has("keep-going"),
      ...share && { share },
      ...concurrency && { concurrency },
      threads,
      signal: io.signal,
      onProgress: ({ done, total }) => progress.update(done, total),
      onFinding(finding) {
        const { severity, rule, message } = finding;
        hasFailed ||= fails(finding);
        progress.clear();
        if (isText) {
          io.print(`${severity} ${rule}: ${withOptionNames(message)}`);
        }
      },
    }).finally(() => progress.clear());
    if (!isText) printJson(io, "verify", result);
    else if (!args.has("quiet")) {
      for (const line of summaryOf(result)) io.print(line);
    }
    return hasFailed ? 1 : 0;
  },
};

/** How many chunks were not decoded, and why. */
function notDecoded(undecoded: Verification["undecoded"]): string {
  return Object.entries(undecoded).map(([unknown, count]) =>
    `, ${countText(count)} not decoded (unknown ${unknown})`
  ).join("");
}

/** The last lines: what exists, what was verified, and what was not. */
function summaryOf(
  {
    chunks,
    absentChunks,
    arrays,
    sharded,
    otherValues,
    counts,
    undecoded,
    isSound,
  }: Verification,
): string[] {
  const sum = Object.values(counts).reduce((sum, n) => sum + n, 0);
  const found = sum === 0 ? "nothing" : countText(sum);
  const others = otherValues
    ? `, ${unitsText(otherValues, "other file")} not verified`
    : "";
  const unit = arrays > 0 && sharded === arrays ? "shard" : "chunk";
  const lines = absentChunks === 0
    ? []
    : [existing(chunks, chunks + absentChunks, unit)];
  return [
    ...lines,
    `${unitsText(chunks, "chunk")} verified${others}, ${found} found${
      notDecoded(undecoded)
    }${isSound === null ? ": whether all chunks are sound is not known" : ""}`,
  ];
}
