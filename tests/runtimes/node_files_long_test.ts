/** `FileSystemStore` in Node and in Bun, alone and beside Deno. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  FileSystemStore,
  openArrayChunks,
  recover,
  UnfinishedWriteError,
} from "../../mod.ts";
import {
  type Findings,
  generationOf,
  type Work,
} from "../stores/file_system/chunk_program.ts";
import {
  createParts,
  start,
  temporaryFiles,
} from "../stores/file_system/processes.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { findOnPath, testWith, type Tool } from "../support/tools.ts";
import { bundleForNode, NODE, printed } from "./programs.ts";

const CONFORMANCE = fileURLToPath(
  import.meta.resolve("./node_conformance.ts"),
);
const CHUNKS = fileURLToPath(import.meta.resolve("./node_chunk_program.ts"));

const bun = await findOnPath(["bun"]);
/** The path of Bun, or how to get it. */
const BUN: Tool = bun === undefined
  ? { missing: "no bun found on PATH; install it (npm install -g bun@1.4.5)" }
  : { path: bun };

/** Registers a test for Node, and the same one for Bun. */
function testInNodeAndBun(
  name: string,
  run: (program: string) => Promise<void>,
): void {
  testWith(NODE, name, run);
  testWith(BUN, name.replaceAll("Node", "Bun"), run);
}

testInNodeAndBun(
  "FileSystemStore passes the conformance tests in Node",
  (node) =>
    inTempDir(async (folder) => {
      const program = `${folder}/program.mjs`;
      await bundleForNode(CONFORMANCE, program);
      const { passed, failures } = JSON.parse(await printed(node, [program]));
      assertEquals(failures, []);
      assert(passed > 60, `Only ${passed} cases ran`);
    }),
);

testWith(
  NODE,
  "FileSystemStore refuses to write in Node where nothing can lock files, unless it is exclusive",
  (node) =>
    inTempDir(async (folder) => {
      const library = `${folder}/mod.mjs`;
      const mod = fileURLToPath(import.meta.resolve("../../mod.ts"));
      await bundleForNode(mod, library);
      const program = `
        import { FileSystemStore } from ${JSON.stringify(library)};
        const [folder, options] = process.argv.slice(1);
        const store = new FileSystemStore(folder, JSON.parse(options));
        await store.set("/c/0", new Uint8Array(3)).catch((error) => console.log(error.message));
        console.log((await store.get("/c/0"))?.length);
      `;
      const absolute = (await findOnPath([node]))!;
      const run = async (options: string) => {
        const args = [
          ...["--input-type=module", "--eval", program],
          ...[`${folder}/data.zarr`, options],
        ];
        const env = { PATH: folder };
        const { stdout } = await new Deno.Command(absolute, { args, env })
          .output();
        return new TextDecoder().decode(stdout);
      };
      assertMatch(
        await run("{}"),
        /^Cannot lock .*, since neither "flock" nor "perl" could: .*"exclusive".*\nundefined\n$/,
      );
      assertEquals(await run('{ "exclusive": true }'), "3\n");
    }),
);

/** Runs a test with a folder, and with a function that starts Node, or Bun, in it. */
function inNode(
  name: string,
  run: (
    folder: string,
    spawn: (work: Work, path?: string) => Deno.ChildProcess,
  ) => Promise<void>,
): void {
  testInNodeAndBun(name, (node) =>
    inTempDir(async (folder) => {
      const program = `${folder}/program.mjs`;
      await bundleForNode(CHUNKS, program);
      const command = node.includes("/") ? node : await findOnPath([node]);
      await run(`${folder}/data.zarr`, (work, path) =>
        new Deno.Command(command!, {
          args: [program, JSON.stringify(work)],
          ...path !== undefined && { env: { PATH: path } },
          stdin: "piped",
          stdout: "piped",
          stderr: "inherit",
        }).spawn());
    }));
}

for (const killed of ["Node", "Deno"]) {
  inNode(
    `a chunk is whole after its writer in ${killed} was killed, beside a reader in the other runtime`,
    async (folder, spawn) => {
      await createParts(folder);
      const counts = { temporary: 0, reads: 0, unfinished: 0 };
      const chunks = await openArrayChunks(new FileSystemStore(folder));
      const length = 1000;
      for (let i = 0; i < 40 || counts.temporary === 0 && i < 400; i++) {
        const writer = await start(
          folder,
          { task: "write", length, first: 10 * i },
          killed === "Node" ? spawn : undefined,
        );
        const end = Date.now() + Math.random() * 60;
        while (Date.now() < end) {
          try {
            const bytes = await chunks.get([0]);
            counts.reads++;
            assert(
              bytes === undefined || generationOf(bytes, length) !== undefined,
              `A mixture of ${new Set(bytes)}`,
            );
          } catch (error) {
            if (!(error instanceof UnfinishedWriteError)) throw error;
            counts.unfinished++;
          }
        }
        await writer.kill();
        const left = await temporaryFiles(folder);
        counts.temporary += left.length > 0 ? 1 : 0;
        // Deno takes over what Node has left, and the other way round.
        if (i % 2 === 1) {
          const other = await start(
            folder,
            { task: "write", length, first: 5 },
            killed === "Node" ? undefined : spawn,
          );
          await other.kill();
        }
        // A `flock` that a killed Node has started holds the lock until it ends.
        for (let tries = 0; tries < 100; tries++) {
          await recover(new FileSystemStore(folder));
          if ((await temporaryFiles(folder)).length === 0) break;
          await delay(10);
        }
        assertEquals(await temporaryFiles(folder), []);
        const bytes = await chunks.get([0]);
        assert(bytes === undefined || generationOf(bytes, length));
      }
      console.log(JSON.stringify(counts));
      assert(counts.temporary > 0, "No program was killed while it wrote");
    },
  );
}

inNode(
  "readers in Node and Deno never read a mixture of writers in Node and Deno",
  async (folder, spawn) => {
    await createParts(folder);
    const writers = [
      await start(folder, { task: "write" }, spawn),
      await start(folder, { task: "write", first: 5 }),
    ];
    try {
      const readers = await Promise.all(
        [spawn, undefined].map((spawn) =>
          start(folder, { task: "read", count: 3_000 }, spawn)
        ),
      );
      for (const reader of readers) {
        const findings: Findings = JSON.parse(await reader.output());
        console.log(JSON.stringify(findings));
        assertEquals(findings.mixtures, 0);
        assert(findings.generations > 20, "The writers have hardly written");
      }
    } finally {
      for (const writer of writers) await writer.kill();
    }
  },
);

inNode(
  "no update of programs in Node and Deno is lost",
  async (folder, spawn) => {
    const count = 120;
    const chunks = await createParts(folder, {
      shape: [count],
      chunk_grid: { name: "regular", configuration: { chunk_shape: [count] } },
    });
    await chunks.set([0], new Uint8Array(count));
    // One of the programs locks files by Perl.
    const perl = await findOnPath(["perl"]);
    const onlyPerl = await Deno.makeTempDir();
    if (perl) await Deno.symlink(perl, `${onlyPerl}/perl`);
    const byPerl = (work: Work) => spawn(work, perl && onlyPerl);
    const programs = await Promise.all(
      [spawn, byPerl, undefined, undefined].map((spawn, first) =>
        start(folder, { task: "update", count, first, step: 4 }, spawn)
      ),
    );
    for (const program of programs) await program.output();
    await Deno.remove(onlyPerl, { recursive: true });
    assertEquals(
      Array.from((await chunks.get([0]))!),
      Array.from({ length: count }, (_, i) => 1 + i % 200),
    );
    assertEquals(await temporaryFiles(folder), []);
  },
);
