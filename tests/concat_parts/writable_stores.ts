import { assert } from "@std/assert";
import { FileSystemStore, MemoryStore } from "../../mod.ts";

/** Runs a test on an empty memory store and on an empty file store. */
export function onWritableStores(
  name: string,
  test: (store: MemoryStore | FileSystemStore) => Promise<void>,
): void {
  Deno.test(`ConcatParts.apply: ${name}, in memory`, () =>
    test(new MemoryStore()));
  Deno.test(`ConcatParts.apply: ${name}, on files`, async () => {
    const root = await Deno.makeTempDir();
    try {
      await test(new FileSystemStore(root));
      // No temporary file is left.
      for await (const entry of Deno.readDir(root)) {
        if (!entry.isDirectory) continue;
        for await (const file of Deno.readDir(`${root}/${entry.name}`)) {
          assert(/^\d/.test(file.name), `left behind: ${file.name}`);
        }
      }
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  });
}
