import { repair } from "../jobs/mod.ts";
import type { Command } from "./command.ts";
import { bytesText, countText, ProgressLine, unitsText } from "./format.ts";
import { assertNoArchive } from "./open_source.ts";
import { assertSource, openWritableStore } from "./open_store.ts";
import { withFlags } from "./error_output.ts";
import { printJson } from "./outputs.ts";
import {
  CODECS,
  FAIL_ON_OPTION,
  failsOn,
  THREADS_OPTION,
  threadsOf,
} from "./shared_options.ts";

/** `zarr-parts repair PATH` */
export const REPAIR: Command = {
  name: "repair",
  operands: ["PATH"],
  summary:
    "Finishes the writes of programs that were killed, removes their temporary files, and brings consolidated metadata up to date. Prints what it cannot repair, with the reason.",
  options: {
    "--deep": "decode all chunks and inner chunks",
    "--dry-run": "print what would be done, and write nothing",
    ...FAIL_ON_OPTION,
    ...THREADS_OPTION,
  },
  examples: [
    "zarr-parts repair data.zarr --dry-run",
    "zarr-parts repair data.zarr --fail-on warning",
  ],
  async run(args, io) {
    const fails = failsOn(args);
    const [place] = args.operands as [string];
    const threads = threadsOf(args);
    const progress = new ProgressLine(io, args.has("quiet"));
    const isText = !args.has("json");
    const isDry = args.has("dry-run");
    const isDone = isText && !args.has("quiet");
    let [repairs, failures, left] = [0, 0, 0];
    const store = await openWritableStore(place, io);
    await assertNoArchive(place, io);
    await assertSource(place);
    const { recovery, ...result } = await repair(store, "", {
      deep: args.has("deep"),
      codecs: CODECS,
      dryRun: isDry,
      threads,
      signal: io.signal,
      onProgress: ({ done, total }) => progress.update(done, total),
      onRepaired({ rule, message }) {
        repairs++;
        progress.clear();
        if (isDone) {
          io.print(
            `${isDry ? "would repair" : "repaired"} ${rule}: ${message}`,
          );
        }
      },
      onUnrepaired({ finding, reason }) {
        left++;
        if (fails(finding)) failures++;
        progress.clear();
        const { severity, rule, message } = finding;
        if (isText) {
          io.print(
            `${severity} ${rule}: ${withFlags(`${message}; ${reason}`)}`,
          );
        }
      },
    }).finally(() => progress.clear());
    if (!isText) printJson(io, "repair", { recovery, ...result });
    if (isDone) {
      const { written, deleted, temporary } = recovery;
      const done = isDry ? "would finish" : "finished";
      for (const key of written) io.print(`${done} the write of ${key}`);
      for (const key of deleted) io.print(`${done} the deletion of ${key}`);
      if (temporary.files > 0) {
        io.print(
          `${isDry ? "would remove" : "removed"} ${
            unitsText(temporary.files, "temporary file")
          }, ${bytesText(temporary.bytes)}`,
        );
      }
      repairs += written.length + deleted.length + temporary.files;
      const sum = `${countText(repairs)} ${
        isDry ? "can be repaired" : "repaired"
      }`;
      if (left > 0) io.print(`${sum}, ${countText(left)} left unrepaired`);
      else io.print(repairs > 0 ? sum : "Nothing to repair");
    }
    return failures > 0 ? 1 : 0;
  },
};
