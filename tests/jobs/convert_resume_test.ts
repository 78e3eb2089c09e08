import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { convert, type ConvertOptions } from "../../jobs.ts";
import {
  FileSystemStore,
  MemoryStore,
  MetadataError,
  openArrayChunks,
  type Store,
} from "../../mod.ts";
import { inTempDir, present } from "../stores/temp_dir.ts";
import { contentsOf } from "../support/bytes.ts";
import { encodeJson, groupMetadata, utf8 } from "../support/documents.ts";
import { observed } from "../support/observed_store.ts";
import { withoutVersions } from "../support/without_versions.ts";
import { checksummed } from "./checksummed.ts";

const LAYOUT: ConvertOptions = { suffix: ".s", parts: ["", ".tail:9"] };
const MARKER = "/.zarr-parts-unfinished.json";

/** A group with two arrays and a text, and what `convert` makes of it. */
async function example(): Promise<
  { source: MemoryStore; expected: Record<string, number[]> }
> {
  const source = new MemoryStore();
  await source.set("/zarr.json", encodeJson(groupMetadata()));
  await source.set("/readme.txt", utf8("Two arrays"));
  for (const [i, path] of ["a", "b/c"].entries()) {
    await checksummed(source, 20 + i, path);
  }
  await source.set("/b/zarr.json", encodeJson(groupMetadata()));
  await source.set("/b/c/notes.txt", utf8("Notes"));
  const target = new MemoryStore();
  await convert(source, target, LAYOUT);
  return { source, expected: await contentsOf(target) };
}

/** Fails from the nth change of a store on, as a full disk does. */
function failing(
  store: Store,
  n: number,
): { store: Store; changes: () => number } {
  let changes = 0;
  const methods = ["set", "delete", "writer"];
  const wrapped = observed(store, ({ method }) => {
    if (methods.includes(method) && ++changes > n) {
      throw new Error("No space left on device");
    }
  }, ["get", "getRange", "stream", "size", "set", "delete", "list", "group"]);
  return { store: wrapped, changes: () => changes };
}

for (
  const [name, wrap] of [
    ["with groups", (store: Store) => store],
    ["without groups", withoutVersions],
  ] as const
) {
  Deno.test(`convert is continued after any failed write, in a store ${name}, with resume`, async () => {
    const { source, expected } = await example();
    const before = await contentsOf(source);
    let hasFinished = false;
    let n = 0;
    for (; !hasFinished; n++) {
      const memory = new MemoryStore();
      const target = wrap(memory);
      const full = failing(target, n);
      try {
        await convert(source, full.store, { ...LAYOUT, concurrency: 1 });
        hasFinished = true;
      } catch (error) {
        // Without groups, the parts that were stored cannot be removed again.
        const isMixed = error instanceof AggregateError;
        if (!isMixed) assertStringIncludes(String(error), "No space left");
        if (await memory.get("/zarr.json") === undefined) {
          await assertRejects(() => openArrayChunks(memory), MetadataError);
        } else {
          // A target that opens is complete.
          const { [MARKER]: _, ...found } = await contentsOf(memory);
          assertEquals(found, expected, `after ${n} writes`);
        }
      }
      if (await memory.get(MARKER) !== undefined) {
        await assertRejects(
          () => convert(source, target, LAYOUT),
          Error,
          n < 20 ? "is unfinished" : "",
        );
      }
      const { isFinished } = await convert(source, target, {
        ...LAYOUT,
        resume: true,
      });
      assertEquals(isFinished, true);
      assertEquals(await contentsOf(memory), expected, `after ${n} writes`);
    }
    assert(n > 15, `${n} writes`);
    assertEquals(await contentsOf(source), before);
  });
}

Deno.test("convert with resume skips what is there, and rewrites chunks of another length", async () => {
  const { source, expected } = await example();
  const target = new MemoryStore();
  await convert(source, target, LAYOUT);
  const resumed = await convert(source, target, { ...LAYOUT, resume: true });
  assertEquals([resumed.copied, resumed.skipped], [0, 8]);

  const key = "/a/c/0/0.s";
  const good = (await target.get(key))!;
  await target.set(key, good.subarray(1));
  await target.delete("/a/c/1/2.s.tail");
  await target.set("/readme.txt", utf8("?"));
  const mended = await convert(source, target, { ...LAYOUT, resume: true });
  assertEquals([mended.copied, mended.skipped], [3, 5]);
  assertEquals(await contentsOf(target), expected);

  const damaged = good.slice();
  damaged[3]! ^= 1;
  await target.set(key, damaged);
  const same = await convert(source, target, { ...LAYOUT, resume: true });
  assertEquals(same.copied, 0);
});

Deno.test("convert removes the temporary file of a run that was killed before its marker was stored", async () => {
  const { source } = await example();
  await inTempDir(async (folder) => {
    await Deno.mkdir(`${folder}/target`);
    const temporary = `${folder}/target/.zarr-parts-tmp-${crypto.randomUUID()}`;
    await Deno.writeFile(temporary, utf8('{"help'));
    await convert(source, new FileSystemStore(`${folder}/target`), LAYOUT);
    assertEquals(await present(`${folder}/target/zarr.json`), true);
    assertEquals(await present(temporary), false);
  });
});

Deno.test("convert removes chunks that an earlier run copied, and that are gone", async () => {
  for (const wrap of [(store: Store) => store, withoutVersions]) {
    const { source } = await example();
    const target = new MemoryStore();
    await assertRejects(
      () =>
        convert(source, wrap(target), {
          ...LAYOUT,
          onProgress({ done, total }) {
            if (done === total) throw new Error("Killed");
          },
        }),
      Error,
      "Killed",
    );
    for (const key of ["/a/c/0/0", "/b/c/c/1/2"] as const) {
      await source.delete(key);
    }
    await target.set("/a/mine.txt", utf8("Kept"));
    await convert(source, wrap(target), { ...LAYOUT, resume: true });
    const fresh = new MemoryStore();
    await convert(source, fresh, LAYOUT);
    await fresh.set("/a/mine.txt", utf8("Kept"));
    assertEquals(await contentsOf(target), await contentsOf(fresh));
  }
});

Deno.test("convert leaves chunks in a finished target that the source does not have", async () => {
  const { source } = await example();
  const target = new MemoryStore();
  await convert(source, target, LAYOUT);
  const chunks = await openArrayChunks(target, "a");
  await chunks.set([0, 1], new Uint8Array(60));
  const before = await contentsOf(target);
  await convert(source, target, { ...LAYOUT, resume: true });
  assertEquals(await contentsOf(target), before);
});

Deno.test("convert continues only the same conversion", async () => {
  const { source } = await example();
  const target = new MemoryStore();
  await assertRejects(() =>
    convert(source, failing(target, 4).store, { ...LAYOUT, concurrency: 1 })
  );
  for (const other of [{ suffix: ".t" }, { ...LAYOUT, parts: [] }]) {
    await assertRejects(
      () => convert(source, target, { ...other, resume: true }),
      Error,
      "from another source or with another layout",
    );
  }
  await checksummed(source, 3, "late");
  await assertRejects(
    () => convert(source, target, { ...LAYOUT, resume: true }),
    Error,
    "from another source",
  );
});

Deno.test("convert with resume refuses a finished target with other documents", async () => {
  const { source } = await example();
  const target = new MemoryStore();
  await convert(source, target, { suffix: ".t" });
  const before = await contentsOf(target);
  await assertRejects(
    () => convert(source, target, { ...LAYOUT, resume: true }),
    Error,
    "is another one than this conversion writes",
  );
  assertEquals(await contentsOf(target), before);
});

Deno.test("convert with overwrite replaces earlier nodes, also after any failed write", async () => {
  const { source, expected } = await example();
  let hasFinished = false;
  let n = 0;
  for (; !hasFinished; n++) {
    const target = new MemoryStore();
    await checksummed(target, 30);
    await checksummed(target, 30, "d");
    const options = { ...LAYOUT, overwrite: true, concurrency: 1 };
    try {
      await convert(source, failing(target, n).store, options);
      hasFinished = true;
    } catch (error) {
      assertStringIncludes(String(error), "No space left");
    }
    // Nothing was removed before the marker was written.
    const isBegun = n > 0 && !hasFinished;
    await convert(source, target, {
      ...LAYOUT,
      ...isBegun ? { resume: true } : { overwrite: true },
    });
    assertEquals(await contentsOf(target), expected, `after ${n} writes`);
  }
  assert(n > 25, `${n} writes`);
});

Deno.test("a conversion leaves the target to another one that takes its place", async () => {
  const { source, expected } = await example();
  const target = new MemoryStore();
  let other: Promise<unknown> | undefined;
  const slow: Store = {
    async get(key, options) {
      await other;
      return await source.get(key, options);
    },
    list: (prefix, options) => source.list(prefix, options),
  };
  await assertRejects(
    () =>
      convert(slow, target, {
        ...LAYOUT,
        concurrency: 1,
        onProgress({ done }) {
          if (done !== 3) return;
          other = convert(source, target, { ...LAYOUT, resume: true });
        },
      }),
    Error,
    "Another program converts to",
  );
  await other;
  assertEquals(await contentsOf(target), expected);
});

Deno.test("of conversions to one target at once, one is done", async () => {
  const { source, expected } = await example();
  const target = new MemoryStore();
  const runs = await Promise.allSettled(
    [1, 2, 3].map(() => convert(source, target, LAYOUT)),
  );
  const failed = runs.filter(({ status }) => status === "rejected");
  assertEquals(failed.length, 2);
  for (const { reason } of failed as PromiseRejectedResult[]) {
    assertStringIncludes(String(reason), "Cannot convert to");
  }
  assertEquals(await contentsOf(target), expected);
});

Deno.test("convert is aborted by its signal, and continued", async () => {
  const { source, expected } = await example();
  const target = new MemoryStore();
  const controller = new AbortController();
  const reason = new Error("Ctrl-C");
  const error = await assertRejects(() =>
    convert(source, target, {
      ...LAYOUT,
      signal: controller.signal,
      onProgress: ({ done }) => {
        if (done === 3) controller.abort(reason);
      },
    })
  );
  assertEquals(error, reason);
  assertEquals(await target.get("/zarr.json"), undefined);
  await convert(source, target, { ...LAYOUT, resume: true });
  assertEquals(await contentsOf(target), expected);
});
