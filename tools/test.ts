/**
 * Runs short tests: `deno run -A tools/test.ts tests/zarrita tests/zip/zip_store_test.ts`
 *
 * Deno loads all modules anew for each test file, which takes longer than most tests. So
 * each room of tests gets a temporary module that imports its test files, and Deno runs
 * these modules. Without paths, it runs all short tests. Options go to `deno test`.
 */
import { readdirSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chooseStandardLibrary } from "./standard_library.ts";

/** Rooms with fewer test files share a module. */
const LEAST_FILES = 5;

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** The files of short tests at a path, which is that of a file or a folder. */
export function shortTests(path: string): string[] {
  const names = Deno.statSync(path).isDirectory
    ? readdirSync(path, { encoding: "utf8", recursive: true })
    : [""];
  return names.map((name) => resolve(path, name)).sort().filter((file) =>
    file.endsWith("_test.ts") && !file.endsWith("_long_test.ts")
  );
}

if (import.meta.main) {
  const paths = Deno.args.filter(isPath);
  const options = Deno.args.filter((arg) => !isPath(arg));
  if (paths.length === 0) paths.push("tests", "tools");
  const files = new Set(paths.flatMap(shortTests));
  if (files.size === 0) {
    const task = "deno task test:all runs long tests";
    console.error(`No short tests in ${paths.join(", ")}: ${task}`);
    Deno.exit(1);
  }
  const { run } = await chooseStandardLibrary();
  const folder = await Deno.makeTempDir({ prefix: "zarr-parts-tests-" });
  try {
    const modules = await writeModules(folder, [...files]);
    const args = ["--no-check", "--parallel", ...options, ...modules];
    // Some tests wait for timers and other programs: one module more than processors runs meanwhile.
    const jobs = navigator.hardwareConcurrency + 1;
    const env = { DENO_JOBS: Deno.env.get("DENO_JOBS") ?? String(jobs) };
    const { code } = await run(["test", "-A", ...args], {
      output: "inherit",
      env,
    });
    Deno.exitCode = code;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function isPath(arg: string): boolean {
  try {
    return !arg.startsWith("-") && Deno.statSync(arg) !== undefined;
  } catch {
    return false;
  }
}

/** Writes a module for each room; those of many files come first, so that the last ones are short. */
async function writeModules(
  folder: string,
  files: readonly string[],
): Promise<string[]> {
  const rooms = Map.groupBy(files, (file) => {
    const path = relative(ROOT, file).split(sep);
    return path[0] === "tests" && path.length > 2 ? path[1]! : "others";
  });
  const shared: string[] = [];
  for (const [room, files] of rooms) {
    if (room !== "others" && files.length >= LEAST_FILES) continue;
    rooms.delete(room);
    shared.push(...files);
  }
  if (shared.length > 0) rooms.set("others", shared);
  const sorted = [...rooms].sort(([, a], [, b]) => b.length - a.length);
  return await Promise.all(sorted.map(async ([room, files]) => {
    if (files.length === 1) return files[0]!;
    const module = join(folder, `${room}_test.ts`);
    const imports = files.map((file) => `import "${pathToFileURL(file)}";\n`);
    await Deno.writeTextFile(module, imports.join(""));
    return module;
  }));
}
