/**
 * Runs all checks that a change must pass: `deno task ok`
 *
 * With `--only-long-tests`, it leaves out the tests that `deno task test` runs.
 */
import config from "../deno.json" with { type: "json" };
import { areSchemasBuilt } from "./build_schemas.ts";
import { isPageBuilt } from "./build_page.ts";
import { isBuilt } from "./build_wasm.ts";
import { isWorkerBuilt } from "./build_worker.ts";
import type { DenoResult } from "./deno.ts";
import { checkPublishOffline, PUBLISH_CHECK } from "./publish_check.ts";
import { chooseStandardLibrary } from "./standard_library.ts";

const { fromJsr, run } = await chooseStandardLibrary();
const output = "piped";

/** All folders but `wasm`, whose language, AssemblyScript, is not TypeScript. */
const TYPED = [
  ...Object.values(config.exports),
  "src",
  "page",
  "worker",
  "tests",
  "bench",
  "examples",
  "tools",
];

/** The tests that `deno task test` leaves out. */
const LONG_TESTS = "tests/**/*_long_test.ts";

await step("Format", () => run(["fmt", "--check"], { output }));
await step("Lint", () => run(["lint"], { output }));
await step("Types", () => run(["check", ...TYPED], { output }));
await step("Built files, built again", async () => ({
  code: await isBuilt() && await isPageBuilt() && await isWorkerBuilt() &&
      await areSchemasBuilt()
    ? 0
    : 1,
  output: "A committed file is not that of its sources: deno task build",
}));
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
if (Deno.args.includes("--only-long-tests")) {
  const examples = [
    "README.md",
    "docs",
    "src",
    ...Object.values(config.exports),
  ];
  await step(
    "Long tests and examples",
    () =>
      run(["test", "-A", "--doc", "--parallel", LONG_TESTS, ...examples], {
        output,
      }),
  );
} else {
  await step(
    "All tests and examples",
    () => run(["test", "-A", "--doc", "--parallel"], { output }),
  );
}

/** Runs a check and prints its time. If it fails, prints its output and exits. */
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
