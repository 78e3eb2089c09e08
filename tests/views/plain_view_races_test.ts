import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { type MemoryStore, plainView, type Store } from "../../mod.ts";
import { encodeJson, groupMetadata } from "../support/documents.ts";
import { arrayInParts } from "../support/in_parts.ts";
import { arrayMetadata } from "../support/metadata.ts";
import { logged, observed } from "../support/observed_store.ts";

const BYTES = Uint8Array.of(1, 2, 3, 4, 5);
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

Deno.test("plainView does not cache reads during a write or deletion of the document", async () => {
  for (const method of ["set", "delete"] as const) {
    for (const when of ["before", "after"] as const) {
      const { stored } = await arrayInParts("a");
      const { store, reached, open } = gated(stored, method, when);
      const view = plainView(store);
      const changing = method === "set"
        ? view.set!(DOCUMENT, V2)
        : view.delete!(DOCUMENT);
      await reached;
      assertEquals(await view.get("/a/c/0/1"), undefined);
      open();
      await changing;
      await stored.set(method === "set" ? "/a/0.1" : "/a/c/0/1", BYTES);
      assertEquals(await view.get("/a/c/0/1"), BYTES);
    }
  }
});

Deno.test("plainView caches a found array although an earlier read finds nothing later", async () => {
  const { stored } = await arrayInParts("a");
  const document = (await stored.get(DOCUMENT))!;
  await stored.delete(DOCUMENT);
  const { store: waiting, open } = gated(stored, "get", "after");
  const { store, log } = logged(waiting);
  const view = plainView(store);
  const early = view.get("/a/c/0/1");
  await view.set!(DOCUMENT, document);
  await view.get("/a/c/0/1");
  open();
  assertEquals(await early, undefined);
  log.length = 0;
  await view.get("/a/c/0/1");
  assertEquals(log, ["get /a/c/0/1.bin", "get /a/c/0/1.bin.crc"]);
});

Deno.test("plainView keeps cached arrays when another array changes", async () => {
  const { stored } = await arrayInParts("a");
  const { store, log } = logged(stored);
  const view = plainView(store);
  await view.get("/a/c/0/1");
  await view.set!("/b/zarr.json", V2);
  await view.set!("/zarr.json", encodeJson(groupMetadata()));
  await view.delete!("/b/zarr.json");
  log.length = 0;
  await view.get("/a/c/0/1");
  assertEquals(log, ["get /a/c/0/1.bin", "get /a/c/0/1.bin.crc"]);
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

Deno.test("plainView errors the stream of a document with the signal's reason", async () => {
  const attributes = { text: "x".repeat(200_000) };
  const { stored } = await arrayInParts("a", { attributes });
  const controller = new AbortController();
  const { signal } = controller;
  const stream = await plainView(stored).stream(DOCUMENT, { signal });
  const reader = stream!.getReader();
  assertEquals((await reader.read()).done, false);
  const reason = new Error("enough");
  controller.abort(reason);
  const rest = async () => {
    while (!(await reader.read()).done);
  };
  assertStrictEquals(await assertRejects(rest), reason);
});
