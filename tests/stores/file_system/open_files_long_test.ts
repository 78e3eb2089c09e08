import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { OpenFiles } from "../../../src/stores/file_system/system.ts";
import { startProgram } from "../../support/deno_program.ts";
import { createParts } from "./processes.ts";

Deno.test("OpenFiles runs as many operations as the limit allows, in the order of the calls", async () => {
  await fc.assert(fc.asyncProperty(
    fc.integer({ min: 1, max: 9 }),
    fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 30 }),
    async (most, counts) => {
      const files = new OpenFiles(most);
      const started: number[] = [];
      let open = 0;
      await Promise.all(counts.map(async (count, i) => {
        const release = await files.take(count);
        started.push(i);
        assert(open === 0 || open + count <= most, `${open} + ${count}`);
        open += count;
        await Promise.resolve();
        open -= count;
        release();
        release(); // Counts only once.
      }));
      assertEquals(started, counts.map((_, i) => i));
      assert(!(files.take(most) instanceof Promise));
    },
  ));
});

Deno.test("OpenFiles starts an operation that the running one waits for", async () => {
  const files = new OpenFiles(1);
  const outer = await files.take(1);
  const inner = await files.take(1);
  inner();
  outer();
  assert(!(files.take(1) instanceof Promise));
});

Deno.test({
  name:
    "FileSystemStore writes and reads 1,000 chunks of three files at the same time in a process that may open 200 files",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const folder = await Deno.makeTempDir();
    try {
      await createParts(folder, { shape: [4000] });
      const url = import.meta.resolve("./many_chunks_program.ts");
      const program = startProgram(url, { folder, count: 1000 }, 200);
      await program.stdin.close();
      const { code, stdout } = await program.output();
      assertEquals(new TextDecoder().decode(stdout), "1000 chunks are right\n");
      assertEquals(code, 0);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
