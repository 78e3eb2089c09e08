import { type Verification, verify } from "../jobs/mod.ts";
import type { Command } from "./command.ts";
import { countText, unitsText } from "./format.ts";
import { openSource } from "./open_store.ts";
import { withFlags } from "./error_output.ts";
import type { Outputs } from "./outputs.ts";
import {
  CODECS,
  FAIL_ON,
  NODES,
  SHARE,
  SOURCE,
  THREADS,
} from "./shared_options.ts";

/** `zarr-parts verify PATH|URL` */
export const VERIFY: Command = {
  name: "verify",
  operands: ["PATH|URL"],
  summary:
    "Checks the documents, parts, checksums and shard indexes of an array or a group, also in a zip archive, and prints a line for each finding. The exit status is 1 if there are errors.",
  options: {
    "--deep": "decode all chunks and inner chunks",
    ...NODES.options,
    ...SOURCE.options,
    "--keep-going": "continue after values that the store fails to read",
    ...FAIL_ON.options,
    ...SHARE.options,
    ...THREADS.options,
  },
  examples: [
    "zarr-parts verify data.zarr",
    "zarr-parts verify image.ome.zarr --exclude 0",
    "zarr-parts verify https://example.com/data.zarr --deep --json",
  ],
  async run(args, io) {
    const fails = FAIL_ON.read(args);
    const [place] = args.operands as [string];
    const [share, threads] = [SHARE.read(args), THREADS.read(args)];
    const store = await openSource(place, args, io);
    let hasFailed = false;
    const result = await verify(store, "", {
      ...NODES.read(args),
      deep: args.has("deep"),
      codecs: CODECS,
      keepGoing: args.has("keep-going"),
      ...share,
      ...threads,
      signal: io.signal,
      onProgress: io.progress,
      onFinding(finding) {
        const { severity, rule, message } = finding;
        hasFailed ||= fails(finding);
        if (args.has("json")) return;
        io.print(`${severity} ${rule}: ${withFlags(message)}`);
      },
    });
    return {
      output: result satisfies Outputs["verify"],
      lines: summaryOf(result),
      status: hasFailed ? 1 : 0,
    };
  },
};

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
  const unit = arrays > 0 && sharded === arrays ? "shard" : "chunk";
  const exist = chunks === 1 ? "exists" : "exist";
  const are = absentChunks === 1
    ? "is absent and reads"
    : "are absent and read";
  const all = unitsText(chunks + absentChunks, unit);
  const absent = `${countText(absentChunks)} ${are} as the fill value`;
  const verified = [
    `${unitsText(chunks, "chunk")} verified`,
    ...otherValues
      ? [`${unitsText(otherValues, "other file")} not verified`]
      : [],
    `${sum === 0 ? "nothing" : countText(sum)} found`,
    ...Object.entries(undecoded).map(([unknown, count]) =>
      `${countText(count)} not decoded (unknown ${unknown})`
    ),
  ].join(", ");
  const doubt = isSound === null
    ? ": whether all chunks are sound is not known"
    : "";
  return [
    ...absentChunks === 0
      ? []
      : [`${countText(chunks)} of ${all} ${exist}, ${absent}`],
    verified + doubt,
  ];
}
