import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { countText } from "../../src/cli/format.ts";
import { ProgressLine } from "../../src/cli/io.ts";
import { withFlags } from "../../src/cli/error_output.ts";
import { serve } from "../stores/loopback.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { runCli } from "./run_cli.ts";

/** Messages of functions, and the same ones on the command line. */
const MESSAGES: [string, string][] = [
  [
    'expected the option "resume" or "overwrite"',
    "expected --resume or --overwrite",
  ],
  [
    'Expected one of the options "dryRun" and "resume", found both',
    "Expected one of --dry-run and --resume, found both",
  ],
  [
    'Options "plain" and "keyEncoding" both say how',
    "--plain and --encoding both say how",
  ],
  ["set link: true to give it", "give --link to give it"],
  ['leave out the option "parts", or give', "leave out --parts, or give"],
  ['at "/" in FileSystemStore(a b/c): none', "at a b/c: none"],
  [
    'ZipStore("/b.zip" of HttpStore(https://c/a?d), "0") has',
    "https://c/a/b.zip/0?d has",
  ],
  [
    "HttpStore(https://a.b/c?d) to S3Store(s3://a/b)",
    "https://a.b/c?d to s3://a/b",
  ],
  // The end of a path with brackets is not known.
  ["in FileSystemStore(a(1)b)", "in FileSystemStore(a(1)b)"],
  // Keys and values are not options.
  ['Key "/overwrite" and "resume"', 'Key "/overwrite" and "resume"'],
  ["unresume: true", "unresume: true"],
];

Deno.test("withFlags puts names of the command line in place of those of functions", () => {
  for (const [message, expected] of MESSAGES) {
    assertEquals(withFlags(message), expected);
  }
});

Deno.test("countText puts commas between thousands", () => {
  for (
    const count of [0, 7, 999, 1000, 12_345, 999_999, 1_000_000, 2 ** 53 - 1]
  ) {
    assertEquals(countText(count), count.toLocaleString("en"));
  }
});

const ARRAY = "tests/fixtures/dem.zarr";

Deno.test("--verbose prints requests without their queries, and the end of the command", async () => {
  const document = await Deno.readTextFile(`${ARRAY}/zarr.json`);
  const server = serve((request) =>
    new URL(request.url).pathname === "/a.zarr/zarr.json"
      ? new Response(document)
      : new Response(null, { status: 404 })
  );
  try {
    const place = `${server.url}/a.zarr?signature=secret`;
    const { code, out, err } = await runCli("inspect", place, "--verbose");
    assertEquals(code, 0);
    assertMatch(err, /GET http:\S+\/a\.zarr\/zarr\.json\?….*: 200, /);
    assertMatch(err, /Ended with 0 after [\d.]+ s, with \d+ MiB of memory\n$/);
    assertEquals(err.includes("secret"), false);
    const quiet = await runCli("inspect", place);
    assertEquals(quiet, { code: 0, out, err: "" });
  } finally {
    await server.close();
  }
});

Deno.test("--log-file adds lines to a file, with the stack of an error", () =>
  inTempDir(async (folder) => {
    const path = `${folder}/log.txt`;
    for (let run = 0; run < 2; run++) {
      const { code, err } = await runCli(
        ...["inspect", `${folder}/missing`, `--log-file=${path}`],
      );
      assertEquals(code, 1);
      assertMatch(err, /^zarr-parts: There is no folder ".*missing"\n$/);
    }
    const log = await Deno.readTextFile(path);
    assertEquals(log.match(/Failed after/g)?.length, 2);
    assertMatch(log, /\n {4}at .*(?:open_store|command\/start)\b/);
  }));

Deno.test("--log-file refuses a path that cannot be written before the work", () =>
  inTempDir(async (folder) => {
    const { code, err } = await runCli(
      ...["convert", ARRAY, `${folder}/b.zarr`],
      `--log-file=${folder}/missing/log.txt`,
    );
    assertEquals(code, 1);
    assertStringIncludes(err, "missing/log.txt");
    assertEquals(await Array.fromAsync(Deno.readDir(folder)), []);
  }));

Deno.test("errors are JSON with --json, with what they tell beside the message", () =>
  inTempDir(async (folder) => {
    const usage = await runCli("inspect", ARRAY, "--json", "--nope");
    assertEquals([usage.code, usage.out], [2, ""]);
    assertEquals(JSON.parse(usage.err), {
      error: { name: "UsageError", message: "Unknown option --nope" },
      status: 2,
    });
    await Deno.writeTextFile(`${folder}/zarr.json`, '{ "zarr_format": 3 }');
    const broken = await runCli(
      ...["convert", folder, `${folder}-target`, "--json"],
    );
    assertEquals(broken.code, 1);
    assertEquals(broken.err.trim().split("\n").length, 1);
    const { error, status } = JSON.parse(broken.err);
    assertEquals([error.name, error.path, status], [
      "MetadataError",
      "/node_type",
      1,
    ]);
    assertStringIncludes(error.message, folder);
  }));

/** An output that collects what is written to standard error. */
function terminal(isTerminal: boolean) {
  const notes: string[] = [];
  const io = { write: (text: string) => void notes.push(text), isTerminal };
  return { io, notes };
}

/** Runs a test with a clock that the test sets, in seconds. */
function withClock(test: (setClock: (seconds: number) => void) => void): void {
  const { now } = performance;
  const setClock = (seconds: number) => {
    performance.now = () => 1000 * seconds;
  };
  try {
    setClock(5);
    test(setClock);
  } finally {
    performance.now = now;
  }
}

Deno.test("ProgressLine shows the progress, the rate and the time left, and removes them", () => {
  withClock((setClock) => {
    const { io, notes } = terminal(true);
    const progress = new ProgressLine(io, false);
    setClock(7);
    progress.update({ done: 250_000, total: 1_000_000, bytes: 3e9 });
    const line = "25 %, 250,000 of 1,000,000, 1.50 GB/s, 0:06 left";
    assertEquals(notes, [`\r${line}`]);
    // Updates that follow at once are left out.
    setClock(7.1);
    progress.update({ done: 500_000, total: 1_000_000, bytes: 3e9 });
    assertEquals(notes.length, 1);
    setClock(7.3);
    progress.update({ done: 1, total: 1 });
    assertEquals(
      notes[1],
      `\r${"100 %, 1 of 1, 0:00 left".padEnd(line.length)}`,
    );
    progress.clear();
    assertEquals(notes.slice(2), [`\r${" ".repeat(line.length)}\r`]);
    progress.clear();
    assertEquals(notes.length, 3);
  });
});

Deno.test("ProgressLine shows neither rates nor times that it does not know", () => {
  const { io, notes } = terminal(true);
  const progress = new ProgressLine(io, false);
  progress.update({ done: 0, total: 0 });
  assertEquals(notes, ["\r0 %, 0 of 0"]);
});

Deno.test("ProgressLine writes nothing without a terminal, and nothing if it is to be quiet", () => {
  for (const [isTerminal, isQuiet] of [[false, false], [true, true]] as const) {
    const { io, notes } = terminal(isTerminal);
    const progress = new ProgressLine(io, isQuiet);
    progress.update({ done: 1, total: 2, bytes: 3 });
    progress.clear();
    assertEquals(notes, []);
  }
});
