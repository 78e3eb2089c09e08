import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { createArrayChunks, MemoryStore, plainView } from "../../mod.ts";
import { encodeJson, groupMetadata } from "../support/documents.ts";
import { arrayInParts } from "../support/in_parts.ts";
import { arrayMetadata } from "../support/metadata.ts";
import { logged, observed } from "../support/observed_store.ts";

const BYTES = Uint8Array.of(1, 2, 3);

/** A plain array with a chunk, the view of it, and what the view asks for. */
async function plainArray() {
  const memory = new MemoryStore([["/a/c/0/1", BYTES]]);
  await createArrayChunks(memory, "a", arrayMetadata());
  const { store, log } = logged(memory);
  return { memory, log, view: plainView(store) };
}

Deno.test("plainView looks at the document of a plain array for its first chunk alone", async () => {
  const { view, log } = await plainArray();
  assertEquals(log, []);
  await view.get("/a/c/0/1");
  assertEquals(log, ["get /a/zarr.json", "get /a/c/0/1"]);
  log.length = 0;
  await view.get("/a/c/0/1");
  await view.get("/a/c/2/0");
  await view.getRange("/a/c/0/1", { offset: 1, length: 1 });
  await view.getRange("/a/c/0/1", { suffixLength: 1 });
  await (await view.stream("/a/c/0/1"))!.cancel();
  await view.size("/a/c/0/1");
  await view.set!("/a/c/0/0", BYTES);
  await view.delete!("/a/c/0/0");
  assertEquals(log, [
    "get /a/c/0/1",
    "get /a/c/2/0",
    "getRange /a/c/0/1",
    "getRange /a/c/0/1",
    "stream /a/c/0/1",
    "size /a/c/0/1",
    "set /a/c/0/0",
    "delete /a/c/0/0",
  ]);
});

Deno.test("plainView asks for the parts of a translated chunk and nothing more", async () => {
  const { stored, chunks } = await arrayInParts("a");
  await chunks.set([0, 1], BYTES);
  const { store, log } = logged(stored);
  const view = plainView(store);
  await view.get("/a/c/0/1");
  log.length = 0;
  await view.get("/a/c/0/1");
  assertEquals(log, ["get /a/c/0/1.bin", "get /a/c/0/1.bin.crc"]);
  log.length = 0;
  await view.getRange("/a/c/0/1", { suffixLength: 2 });
  assertEquals(log, ["get /a/c/0/1.bin.crc"]);
});

Deno.test("plainView looks nothing up for a key that is no default chunk key", async () => {
  const { view, log } = await plainArray();
  for (
    const key of [
      "/a/c/01",
      "/a/c/0/1.bin",
      "/a/c.0.1",
      "/a/0.1",
      "/a/cc/0",
      "/a/c/-1",
      "/a/c/1e3",
      "/a/.zarray",
      "/readme",
    ] as const
  ) {
    log.length = 0;
    await view.get(key);
    assertEquals(log, [`get ${key}`]);
  }
});

Deno.test("plainView reads a document once, and in full, however it is asked for", async () => {
  const { view, log } = await plainArray();
  const key = "/a/zarr.json";
  await view.get(key);
  await view.getRange(key, { offset: 0, length: 1 });
  await (await view.stream(key))!.cancel();
  await view.size(key);
  assertEquals(log, new Array(4).fill(`get ${key}`));
});

Deno.test("plainView looks once for reads that come at once", async () => {
  const { stored } = await arrayInParts("a");
  const { store, log } = logged(stored);
  const view = plainView(store);
  await Promise.all([
    view.get("/a/c/0/0"),
    view.size("/a/c/0/1"),
    view.getRange("/a/c/1/1", { offset: 0, length: 1 }),
    view.set!("/a/c/2/1", BYTES),
    Array.fromAsync(view.list!("/a/c/")),
  ]);
  assertEquals(log.filter((request) => request === "get /a/zarr.json"), [
    "get /a/zarr.json",
  ]);
});

Deno.test("plainView looks at each array, and at a group called c, once", async () => {
  const { stored } = await arrayInParts("c/0");
  await stored.set("/zarr.json", encodeJson(groupMetadata()));
  await stored.set("/c/zarr.json", encodeJson(groupMetadata()));
  const { store, log } = logged(stored);
  const view = plainView(store);
  for (let times = 0; times < 2; times++) {
    for (const key of ["/c/0", "/c/c/0", "/c/0/c/0/0"] as const) {
      await view.get(key);
    }
  }
  assertEquals(log.filter((request) => request.endsWith("zarr.json")), [
    "get /zarr.json",
    "get /c/zarr.json",
    "get /c/0/zarr.json",
  ]);
});

Deno.test("plainView does not keep a look-up that failed", async () => {
  const { stored, chunks } = await arrayInParts("a");
  await chunks.set([0, 1], BYTES);
  const failure = new Error("no network");
  let isDown = true;
  const view = plainView(observed(stored, () => {
    if (isDown) throw failure;
  }));
  for (let times = 0; times < 2; times++) {
    const errors = await Promise.all(
      [0, 1].map((column) => assertRejects(() => view.get(`/a/c/0/${column}`))),
    );
    for (const error of errors) assertStrictEquals(error, failure);
  }
  isDown = false;
  assertEquals(await view.get("/a/c/0/1"), BYTES);
});

Deno.test("plainView finds an array that was created below after it was missed", async () => {
  const stored = new MemoryStore();
  const view = plainView(stored);
  assertEquals(await view.get("/a/c/0/1"), undefined);
  assertEquals(await view.size("/a/c/0/1"), undefined);
  const metadata = arrayMetadata({ chunk_key_encoding: "v2" });
  const chunks = await createArrayChunks(stored, "a", metadata);
  await chunks.set([0, 1], BYTES);
  assertEquals(await view.get("/a/c/0/1"), BYTES);
});

Deno.test("plainView looks nothing up for a key that is none", async () => {
  const { view, log } = await plainArray();
  for (const name of ["zarr.json", "c/0/1"]) {
    for (const folder of ["", "/..", "//a", "/a/.", "/a\\b", "/a\n"]) {
      const key = `${folder}/${name}`.slice(folder ? 0 : 1) as "/";
      for (const use of [view.get, view.size, view.stream, view.delete!]) {
        await assertRejects(async () => await use(key), RangeError, "Key ");
      }
      await assertRejects(() => view.set!(key, BYTES), RangeError, "Key ");
    }
  }
  assertEquals(log, []);
});

Deno.test("plainView looks nothing up for a value that cannot be stored", async () => {
  const { view, log } = await plainArray();
  for (const key of ["/a/c/0/1", "/a/zarr.json", "/x"] as const) {
    for (const wrong of ["abc", new ArrayBuffer(3), [1, 2], undefined]) {
      await assertRejects(
        () => view.set!(key, wrong as unknown as Uint8Array),
        TypeError,
        "Expected a value to be a Uint8Array or a ReadableStream",
      );
    }
  }
  assertEquals(log, []);
});

Deno.test("plainView looks nothing up for who has aborted already", async () => {
  const { view, log } = await plainArray();
  const signal = AbortSignal.abort(new Error("never mind"));
  for (const key of ["/a/c/0/1", "/a/zarr.json"] as const) {
    await assertRejects(() => view.get(key, { signal }), Error, "never mind");
    await assertRejects(
      () => view.delete!(key, { signal }),
      Error,
      "never mind",
    );
    await assertRejects(
      () => view.set!(key, BYTES, { signal }),
      Error,
      "never mind",
    );
  }
  assertEquals(log, []);
});
