import { repair } from "../jobs/mod.ts";
import type { Command } from "./command.ts";
import { withFlags } from "./error_output.ts";
import { bytesText, countText, unitsText } from "./format.ts";
import { openTarget } from "./open_store.ts";
import type { Outputs } from "./outputs.ts";
import { CODECS, FAIL_ON, THREADS } from "./shared_options.ts";

/** `zarr-parts repair PATH` */
export const REPAIR: Command = {
  name: "repair",
  operands: ["PATH"],
  summary:
    "Finishes the writes of programs that were killed, removes their temporary files, and brings consolidated metadata up to date. Prints what it cannot repair, with the reason.",
  options: {
    "--deep": "decode all chunks and inner chunks",
    "--dry-run": "print what would be done, and write nothing",
    ...FAIL_ON.options,
    ...THREADS.options,
  },
  examples: [
    "zarr-parts repair data.zarr --dry-run",
    "zarr-parts repair data.zarr --fail-on warning",
  ],
  async run(args, io) {
    const fails = FAIL_ON.read(args);
    const [place] = args.operands as [string];
    const threads = THREADS.read(args);
    const isDry = args.has("dry-run");
    const isText = !args.has("json");
    const would = (done: string, repair: string) =>
      isDry ? `would ${repair}` : done;
    let [repairs, failures, left] = [0, 0, 0];
    const store = await openTarget(place, io, true);
    const output = await repair(store, "", {
      deep: args.has("deep"),
      codecs: CODECS,
      dryRun: isDry,
      ...threads,
      signal: io.signal,
      onProgress: io.progress,
      onRepaired({ rule, message }) {
        repairs++;
        if (!isText || args.has("quiet")) return;
        io.print(`${would("repaired", "repair")} ${rule}: ${message}`);
      },
      onUnrepaired({ finding, reason }) {
        left++;
        if (fails(finding)) failures++;
        const { severity, rule, message } = finding;
        if (!isText) return;
        io.print(`${severity} ${rule}: ${withFlags(`${message}; ${reason}`)}`);
      },
    });
    const { written, deleted, temporary: { files, bytes } } = output.recovery;
    const finished = would("finished", "finish");
    repairs += written.length + deleted.length + files;
    const sum = `${countText(repairs)} ${
      isDry ? "can be repaired" : "repaired"
    }`;
    const rest = left > 0 ? `, ${countText(left)} left unrepaired` : "";
    return {
      output: output satisfies Outputs["repair"],
      lines: [
        ...written.map((key) => `${finished} the write of ${key}`),
        ...deleted.map((key) => `${finished} the deletion of ${key}`),
        ...files === 0 ? [] : [
          `${would("removed", "remove")} ${
            unitsText(files, "temporary file")
          }, ${bytesText(bytes)}`,
        ],
        repairs + left > 0 ? sum + rest : "Nothing to repair",
      ],
      status: failures > 0 ? 1 : 0,
    };
  },
};
