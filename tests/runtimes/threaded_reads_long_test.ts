import { assert, assertEquals, assertMatch } from "@std/assert";
import { fileURLToPath } from "node:url";
import { bundleFile } from "../../tools/bundle.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { runOptions } from "../support/deno_program.ts";
import { testWith } from "../support/tools.ts";
import { NODE } from "./programs.ts";

const PROGRAM = fileURLToPath(import.meta.resolve("./threaded_reads.ts"));
const WORKER = fileURLToPath(
  import.meta.resolve("../browser/threaded_worker.ts"),
);
/** The sum of 16 × 2^20 elements, of which a quarter is absent. */
const SUM = 12 * 2 ** 20 * 7 + 4 * 2 ** 20;
/** How long a program may go on after it has done its work, in milliseconds: much longer than the threads of a pool are kept. */
const MOST = 20_000;

interface Printed {
  sum?: number;
  size?: boolean;
  error?: string;
  workers: number;
  done: number;
  failed: string[];
}

/** Runs a program, which must end by itself, and returns what it printed. */
async function run(command: string, args: string[]): Promise<Printed> {
  const process = new Deno.Command(command, {
    args,
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1" },
  }).spawn();
  const errors = new Response(process.stderr).text();
  let text = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isKilled = false;
  for await (
    const piece of process.stdout.pipeThrough(new TextDecoderStream())
  ) {
    text += piece;
    timer ??= setTimeout(() => {
      isKilled = true;
      process.kill();
    }, MOST);
  }
  const { code } = await process.status;
  clearTimeout(timer);
  assert(!isKilled, "The program did not end by itself");
  assertEquals(code, 0, await errors);
  await errors;
  return JSON.parse(text);
}

/** What programs print, by their modes. */
const MODES: Record<string, (printed: Printed) => void> = {
  call({ sum, workers, done, failed }) {
    assertEquals([sum, done, failed], [SUM, 3, []]);
    assert(workers > 0);
  },
  number({ sum, workers, done, failed }) {
    assertEquals([sum, workers, done, failed], [SUM, 2, 3, []]);
  },
  pool({ sum, done, failed }) {
    assertEquals([sum, done, failed], [SUM, 3, []]);
  },
  using({ sum, workers, done, failed }) {
    assertEquals([sum, workers, done, failed], [SUM, 2, 3, []]);
  },
  twice({ sum, workers, done, failed }) {
    assertEquals([sum, workers, done, failed], [SUM, 4, 6, []]);
  },
  aborted({ sum, error }) {
    assertEquals([sum, error], [undefined, "Enough"]);
  },
  unused({ size, workers }) {
    assertEquals([size, workers], [true, 0]);
  },
  dead({ sum, error }) {
    assertEquals(sum, undefined);
    // Deno may tell of the error before the message that the worker has started.
    assertMatch(error!, / chunks has ended: |cannot be started: .*Gone/);
  },
};

for (const [mode, check] of Object.entries(MODES)) {
  Deno.test(`a program without permissions reads by threads and ends: ${mode}`, async () => {
    const options = ["run", "--quiet", "--no-prompt", ...runOptions()];
    check(await run(Deno.execPath(), [...options, PROGRAM, mode, "gzip"]));
  });
}

const CODECS = ["zstd", "numcodecs.blosc"];

for (const codec of CODECS) {
  Deno.test(`threads of a program without permissions decode ${codec}`, async () => {
    const options = ["run", "--quiet", "--no-prompt", ...runOptions()];
    MODES.using!(
      await run(Deno.execPath(), [...options, PROGRAM, "using", codec]),
    );
  });
}

testWith(
  NODE,
  "a program of Node reads by threads and ends",
  (node, t) =>
    inTempDir(async (folder) => {
      const path = await bundled(folder);
      for (const [mode, check] of Object.entries(MODES)) {
        await t.step(mode, async () => {
          check(await run(node, [path, mode, "gzip"]));
        });
      }
      await t.step(
        "decodes zstd, which threads of Node 20 do not have",
        async () => {
          const { sum, done, failed } = await run(node, [
            path,
            "using",
            "zstd",
          ]);
          assertEquals([sum, failed], [SUM, []]);
          assert(done === 3 || done === 0);
        },
      );
      await t.step("in a module of createWorker", async () => {
        const [program] = (await bundleFile(WORKER, {})).values();
        await Deno.writeTextFile(`${folder}/threaded_worker.js`, program!);
        MODES.using!(await run(node, [path, "module", "gzip"]));
      });
    }),
);

async function bundled(folder: string): Promise<string> {
  const files = await bundleFile(PROGRAM, { splitting: true });
  const [main] = files.keys();
  for (const [name, text] of files) {
    await Deno.writeTextFile(`${folder}/${name}`, text);
  }
  await Deno.writeTextFile(
    `${folder}/package.json`,
    JSON.stringify({ type: "module" }),
  );
  return `${folder}/${main}`;
}
