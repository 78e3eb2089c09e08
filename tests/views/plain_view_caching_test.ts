/** The documents that a plain view reads and keeps, also beside writers. */
import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import {
  createArrayChunks,
  MemoryStore,
  plainView,
  type Store,
} from "../../mod.ts";
import { encodeJson } from "../support/documents.ts";
import { arrayInParts } from "../support/in_parts.ts";
import { arrayMetadata } from "../support/metadata.ts";
import { logged, observed } from "../support/observed_store.ts";

const BYTES = Uint8Array.of(1, 2, 3, 4, 5);

/** Creates a plain array with a chunk, a view of it, and the log of the view's requests. */
async function plainArray() {
  const memory = new MemoryStore([["/a/c/0/1", BYTES]]);
  await createArrayChunks(memory, "a", arrayMetadata());
  const { store, log } = logged(memory);
  return { memory, log, view: plainView(store) };
}

Deno.test("plainView reads the document of a plain array only for the first chunk", async () => {
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

Deno.test("plainView reads a document once for concurrent reads", async () => {
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

Deno.test("plainView does not cache a failed read of a document", async () => {
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

const DOCUMENT = "/a/zarr.json";
const V2 = encodeJson(arrayMetadata({ chunk_key_encoding: "v2" }));

/** A store that delays the first call of a method for the document, before or after the call takes effect. */
function gated(
  stored: MemoryStore,
  method: "get" | "set" | "delete",
  when: "before" | "after",
): { store: Store; reached: Promise<void>; open: () => void } {
  const reached = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let isFirst = true;
  const wait = async (key: string) => {
    if (key !== DOCUMENT || !isFirst) return;
    isFirst = false;
    reached.resolve();
    await gate.promise;
  };
  const use = stored[method].bind(stored) as (
    ...args: unknown[]
  ) => Promise<unknown>;
  const store = {
    ...observed(stored, () => {}),
    async [method](...args: unknown[]) {
      if (when === "before") await wait(args[0] as string);
      const result = await use(...args);
      if (when === "after") await wait(args[0] as string);
      return result;
    },
  } as Store;
  return { store, reached: reached.promise, open: gate.resolve };
}

Deno.test("plainView does not cache a read that began before a document was written", async () => {
  const { stored } = await arrayInParts("a");
  const { store, open } = gated(stored, "get", "after");
  const view = plainView(store);
  const early = view.get("/a/c/0/1");
  await view.set!(DOCUMENT, V2);
  open();
  assertEquals(await early, undefined);
  await stored.set("/a/0.1", BYTES);
  assertEquals(await view.get("/a/c/0/1"), BYTES);
});

Deno.test("plainView does not cache a document that was replaced during the read", async () => {
  const { stored } = await arrayInParts("a");
  const { store, reached, open } = gated(stored, "get", "after");
  const view = plainView(store);
  const early = view.get(DOCUMENT);
  await reached;
  await view.set!(DOCUMENT, V2);
  open();
  await early;
  await stored.set("/a/0.1", BYTES);
  assertEquals(await view.get("/a/c/0/1"), BYTES);
});

Deno.test("plainView does not reject a caller when another one aborts", async () => {
  const { stored, chunks } = await arrayInParts("a");
  await chunks.set([0, 1], BYTES);
  const { store, open } = gated(stored, "get", "before");
  const view = plainView(store);
  const controller = new AbortController();
  const { signal } = controller;
  const reason = new Error("never mind");
  const aborted = assertRejects(() => view.get("/a/c/0/1", { signal }));
  const other = view.get("/a/c/0/1");
  controller.abort(reason);
  open();
  assertStrictEquals(await aborted, reason);
  assertEquals(await other, BYTES);
  assertEquals(await view.get("/a/c/0/1"), BYTES);
});
