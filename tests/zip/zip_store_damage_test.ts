/** Archives that are damaged, hostile, or replaced while they are read. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { crc32 } from "node:zlib";
import {
  DamageError,
  FileSystemStore,
  HttpStore,
  MemoryStore,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { ZipStore } from "../../zip.ts";
import { readAll } from "../stores/store_values.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { countingBytes } from "../support/bytes.ts";
import { utf8 } from "../support/documents.ts";
import { runs } from "../support/runs.ts";
import { withoutVersions } from "../support/without_versions.ts";
import { deflatedEntry, makeArchive } from "./archives.ts";
import { type MadeEntry, makeZip } from "./make_zip.ts";

const KEY = "/x.zip";

function storeOf(...entries: MadeEntry[]): ZipStore {
  return new ZipStore(new MemoryStore([[KEY, makeZip(entries).file]]), KEY);
}

Deno.test("ZipStore returns the right bytes or an error, whatever is damaged", async () => {
  const made = [
    { name: "zarr.json", content: utf8("{}") },
    { name: "c/0", content: countingBytes(60), isDeflated: true },
    { name: "c/1", content: countingBytes(50), localExtra: 9 },
    { name: "c/2", content: countingBytes(40), hasDescriptor: true },
    {
      name: "c/3",
      content: countingBytes(30),
      isDeflated: true,
      isZip64: true,
    },
  ];
  const contents = new Map(
    made.map((
      { name, content },
    ): [string, Uint8Array] => [`/${name}`, content]),
  );
  const archives = [false, true].map((isZip64) =>
    makeArchive(made, { isZip64, comment: "text" })
  );
  const change = fc.record({
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    byte: fc.oneof(fc.constantFrom(0, 1, 8, 0x50, 0xff), fc.nat(255)),
    removed: fc.constantFrom(0, 0, 0, 1, 7),
  });
  let [read, refused] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...archives),
      fc.array(change, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      async (archive, changes, hasVersions) => {
        let bytes = archive;
        for (const { at, byte, removed } of changes) {
          const place = Math.floor(at * bytes.length);
          bytes = bytes.with(place, byte);
          bytes = Uint8Array.of(
            ...bytes.subarray(0, place),
            ...bytes.subarray(place + removed),
          );
        }
        const files = new MemoryStore([[KEY, bytes]]);
        const store = new ZipStore(
          hasVersions ? files : withoutVersions(files),
          KEY,
        );
        const attempt = async (task: () => Promise<void>) => {
          try {
            await task();
            read++;
          } catch (error) {
            const isExpected = error instanceof DamageError ||
              error instanceof Error &&
                /^(?:Entry|Archive) .* (?:is|with) /.test(error.message);
            if (!isExpected) throw error;
            refused++;
          }
        };
        await attempt(async () => {
          for await (const key of store.list()) {
            const content = contents.get(key);
            const assertContent = (found: Uint8Array | undefined) => {
              // Names may be damaged, too.
              if (content === undefined) return;
              const other = [...contents.values()].some((each) =>
                `${each}` === `${found}`
              );
              assert(other, `${key} has other bytes`);
            };
            await attempt(async () => assertContent(await store.get(key)));
            await attempt(async () =>
              assertContent(await readAll(await store.stream(key)))
            );
            await attempt(async () => {
              const size = (await store.size(key))!;
              const range = { offset: 1, length: 5 };
              const found = (await store.getRange(key, range))!;
              assertEquals(found.length, Math.max(0, Math.min(5, size - 1)));
            });
          }
        });
      },
    ),
    { numRuns: runs(400) },
  );
  assert(
    read > runs(500) && refused > 0,
    `${read} read, ${refused} refused`,
  );
});

Deno.test("ZipStore inflates no more than the directory says", async () => {
  // 16 MiB of zeros in some KiB, of which the directory says less.
  const content = new Uint8Array(2 ** 24);
  for (const size of [1000, 5 * 2 ** 20, 2 ** 24 - 1]) {
    const store = storeOf(deflatedEntry("c/0", content, { size }));
    const problem = `has deflated bytes that are longer than ${size} bytes`;
    await assertRejects(() => store.get("/c/0"), DamageError, problem);
    const range = { suffixLength: 1 };
    await assertRejects(
      () => store.getRange("/c/0", range),
      DamageError,
      problem,
    );
    let length = 0;
    const stream = await store.stream("/c/0");
    await assertRejects(
      async () => {
        for await (const piece of stream!) length += piece.length;
      },
      DamageError,
      problem,
    );
    assert(length <= size);
  }
});

Deno.test("ZipStore reads deflated entries that are too long to be inflated at once", async () => {
  for (const length of [2 ** 22, 2 ** 22 + 1, 9 * 2 ** 20 + 3]) {
    const content = countingBytes(length);
    const store = storeOf(deflatedEntry("c/0", content));
    const [read, range] = await Promise.all([
      store.get("/c/0"),
      store.getRange("/c/0", { suffixLength: 5 }),
    ]);
    assertEquals(crc32(read!), crc32(content));
    assertEquals(range, content.slice(-5));
  }
});

Deno.test("ZipStore reads ranges of deflated entries that are too long to keep", async () => {
  const content = new Uint8Array(65 * 2 ** 20);
  const some = countingBytes(2 ** 20 + 7);
  for (let at = 0; at < content.length; at += some.length) {
    content.set(some.subarray(0, content.length - at), at);
  }
  const store = storeOf(
    deflatedEntry("c/0", content),
    deflatedEntry("c/1", content, { checksum: 1 }),
  );
  const ranges = [
    { offset: 0, length: 3 },
    { offset: 70_001, length: 300_000 },
    { offset: content.length - 5, length: 9 },
  ];
  for (const { offset, length } of ranges) {
    assertEquals(
      await store.getRange("/c/0", { offset, length }),
      content.slice(offset, offset + length),
    );
  }
  assertEquals(
    await store.getRange("/c/0", { suffixLength: 7 }),
    content.slice(-7),
  );
  await assertRejects(
    async () => {
      for await (const _ of (await store.stream("/c/1"))!);
    },
    DamageError,
    "has the CRC-32",
  );
  await (await store.stream("/c/0"))!.cancel();
});

const OLD = makeArchive([
  { name: "zarr.json", content: utf8("old") },
  { name: "c/0", content: utf8("old chunk"), localExtra: 9 },
]);
const NEW = makeArchive([
  { name: "zarr.json", content: utf8("new") },
  { name: "c/0", content: utf8("new chunk"), localExtra: 9 },
]);

Deno.test("ZipStore closes files, and compares the directory of one that was written a moment ago", async () => {
  await inTempDir(async (folder) => {
    const path = `${folder}${KEY}`;
    const past = new Date(Date.now() - 60_000);
    for (const isYoung of [true, false]) {
      for (const follow of [false, true]) {
        await Deno.writeFile(path, OLD);
        if (!isYoung) await Deno.utime(path, past, past);
        const store = new ZipStore(new FileSystemStore(folder), KEY, {
          follow,
        });
        assertEquals(await store.get("/c/0"), utf8("old chunk"));
        assertEquals(await store.get("/absent"), undefined);
        const version = await store.read(
          ["/c/0"],
          (values) => Promise.resolve(values.version("/c/0")!),
        );
        assertEquals(version.isLasting, !isYoung);
        assertEquals(version.tag === undefined, isYoung);
        const stream = await store.stream("/c/0");
        // The same archive once more is no change.
        await Deno.writeFile(`${path}.new`, OLD);
        if (isYoung) {
          await Deno.rename(`${path}.new`, path);
          const range = { offset: 0, length: 1 };
          assertEquals(
            await store.readOf(version, "/c/0", range),
            undefined,
          );
          version.release();
          await stream!.cancel();
          assertEquals(await store.get("/c/0"), utf8("old chunk"));
        } else {
          version.release();
          assertEquals(await readAll(stream), utf8("old chunk"));
        }
        await Deno.writeFile(`${path}.new`, NEW);
        await Deno.rename(`${path}.new`, path);
        if (follow) assertEquals(await store.get("/c/0"), utf8("new chunk"));
        else {
          await assertRejects(
            () => store.get("/c/0"),
            Error,
            "was changed after it was opened: open it again",
          );
        }
      }
    }
  });
});

/** A server of one file, which counts requests. */
function served(hasVersions: boolean) {
  const state = { file: OLD, etag: '"1"', requests: 0 };
  const store = new HttpStore("https://example.org", {
    retries: 0,
    fetch({ method, headers }) {
      state.requests++;
      const { file, etag } = state;
      const range = /^bytes=(\d*)-(\d*)$/.exec(headers.get("range") ?? "");
      const common: Record<string, string> = hasVersions ? { etag } : {};
      if (method === "HEAD") {
        common["content-length"] = `${file.length}`;
        return Promise.resolve(new Response(null, { headers: common }));
      }
      const [, first, last] = range!;
      const start = first
        ? Number(first)
        : Math.max(0, file.length - Number(last));
      const end = first ? Math.min(Number(last) + 1, file.length) : file.length;
      common["content-range"] = `bytes ${start}-${end - 1}/${file.length}`;
      return Promise.resolve(
        new Response(file.slice(start, end), { status: 206, headers: common }),
      );
    },
  });
  return { state, store };
}

Deno.test("ZipStore notices by entity tags that an archive on a server was replaced", async () => {
  for (const follow of [false, true]) {
    const { state, store } = served(true);
    const zip = new ZipStore(store, KEY, { follow });
    assertEquals(await zip.get("/zarr.json"), utf8("old"));
    Object.assign(state, { file: NEW, etag: '"2"' });
    if (follow) {
      assertEquals(await zip.get("/c/0"), utf8("new chunk"));
      assertEquals(await zip.get("/zarr.json"), utf8("new"));
    } else {
      await assertRejects(() => zip.get("/c/0"), Error, "was changed after");
    }
  }
});

Deno.test("ZipStore goes on with another copy of the same archive", async () => {
  for (const follow of [false, true]) {
    const { state, store } = served(true);
    const zip = new ZipStore(store, KEY, { follow });
    for (const etag of ['"1"', '"2"', '"3"']) {
      state.etag = etag; // As of several servers with the same files.
      assertEquals(await zip.get("/zarr.json"), utf8("old"));
      assertEquals(await zip.get("/c/0"), utf8("old chunk"));
    }
    const stream = await zip.stream("/c/0");
    state.etag = '"4"';
    await assertRejects(() => readAll(stream), Error, "changed");
  }
});

Deno.test("ZipStore reads an archive on a server by few requests", async () => {
  for (const hasVersions of [false, true]) {
    const { state, store } = served(hasVersions);
    const zip = new ZipStore(store, KEY);
    const steps: [() => Promise<unknown>, number][] = [
      [() => zip.size("/c/0"), 1],
      [() => zip.size("/zarr.json"), 0],
      [() => zip.get("/absent"), 0],
      [() => Array.fromAsync(zip.list()), 0],
      [() => zip.get("/zarr.json"), 1],
      [() => zip.getRange("/c/0", { offset: 2, length: 3 }), 1],
      [() => zip.getRange("/c/0", { suffixLength: 3 }), 1],
      [() => zip.get("/c/0"), 1],
    ];
    for (const [i, [step, requests]] of steps.entries()) {
      state.requests = 0;
      await step();
      assertEquals(state.requests, requests, `step ${i}`);
    }
  }
});

Deno.test("ZipStore opens an archive once for all that wait, and ends when all of them are aborted", async () => {
  const aborted: unknown[] = [];
  let opened = 0;
  const waiting: Store = {
    get: () => Promise.reject(new Error("A range is enough")),
    size: () => Promise.resolve(OLD.length),
    getRange: (_key, _range, { signal } = {}) =>
      new Promise((_, reject) => {
        opened++;
        signal!.addEventListener("abort", () => {
          aborted.push(signal!.reason);
          reject(signal!.reason);
        });
      }),
  };
  const store = new ZipStore(waiting, KEY);
  const [one, other] = [new AbortController(), new AbortController()];
  const key: StoreKey = "/c/0";
  const reads = [one, other].map(({ signal }) =>
    assertRejects(() => store.get(key, { signal }), Error, "enough of it")
  );
  one.abort(new Error("enough of it"));
  await reads[0];
  assertEquals([opened, aborted.length], [1, 0]);
  other.abort(new Error("enough of it"));
  await reads[1];
  assertEquals([opened, aborted.length], [1, 1]);
});
