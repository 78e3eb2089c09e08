/** The gate: everything that must hold before a change goes in. `deno task ok` */
import config from "../deno.json" with { type: "json" };
import type { DenoResult } from "./deno.ts";
import { checkPublishOffline, PUBLISH_CHECK } from "./publish_check.ts";
import { chooseStandardLibrary } from "./standard_library.ts";

const { fromJsr, run } = await chooseStandardLibrary();
const output = "piped";

await step("Format", () => run(["fmt", "--check"], { output }));
await step("Lint", () => run(["lint"], { output }));
await step("Types", () => run(["check", "."], { output }));
await step(
  "Documentation",
  () => run(["doc", "--lint", ...Object.values(config.exports)], { output }),
);
await step(
  fromJsr
    ? "Publish dry run"
    : "Publish dry run, on a copy linked to the stand-ins: files, licence, exports, types",
  () => fromJsr ? run(PUBLISH_CHECK, { output }) : checkPublishOffline(),
);
await step(
  "Tests and examples",
  () => run(["test", "-A", "--doc"], { output }),
);

/** Runs one step and reports its time; a failure shows its output and ends the gate. */
async function step(
  name: string,
  run: () => Promise<DenoResult>,
): Promise<void> {
  const start = performance.now();
  const { code, output } = await run();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  if (code === 0) return console.log(`${seconds.padStart(5)} s  ${name}`);
  console.error(`${output}\n${seconds.padStart(5)} s  ${name}: failed`);
  Deno.exit(1);
}
