import { assertEquals, assertRejects } from "@std/assert";
import {
  ConcatParts,
  MemoryStore,
  type StoreKey,
  WritableHttpStore,
} from "../../mod.ts";
import { testStore } from "./conformance.ts";
import { storeHandler } from "./loopback.ts";

/** Answers for a store as a server does that also takes values. */
function writableHandler(
  store: MemoryStore,
): (request: Request) => Promise<Response> {
  const read = storeHandler(store);
  return async (request) => {
    const key = decodeURIComponent(new URL(request.url).pathname) as StoreKey;
    switch (request.method) {
      case "PUT":
        await store.set(key, await request.bytes());
        return new Response(null, { status: 201 });
      case "DELETE":
        if (!await store.get(key)) return new Response(null, { status: 404 });
        await store.delete(key);
        return new Response(null, { status: 204 });
      default:
        return await read(request);
    }
  };
}

testStore("WritableHttpStore", () => {
  const below = new MemoryStore();
  return Promise.resolve({
    store: new WritableHttpStore("https://example.org", {
      fetch: writableHandler(below),
    }),
    fill: (key, bytes) => below.set(key, bytes),
  });
}, { lacks: ["list"] });

Deno.test("WritableHttpStore.set sends bytes again that a server has refused for a while, and streams only once", async () => {
  const statuses = [503, 429, 201];
  const bodies: Uint8Array[] = [];
  const store = new WritableHttpStore("https://example.org", {
    retryDelay: 0,
    async fetch(request) {
      bodies.push(await request.bytes());
      return new Response(null, { status: statuses.shift()! });
    },
  });
  const bytes = new Uint8Array([1, 2, 3]);
  await store.set("/k", bytes);
  assertEquals(bodies, [bytes, bytes, bytes]);
  statuses.push(503, 201);
  await assertRejects(
    () => store.set("/k", new Blob([bytes]).stream()),
    Error,
    "found 503",
  );
  assertEquals(statuses, [201]);
});

Deno.test("WritableHttpStore takes 404 for a failure of PUT, and for absence in DELETE", async () => {
  const store = new WritableHttpStore("https://example.org", {
    fetch: () => Promise.resolve(new Response(null, { status: 404 })),
  });
  await assertRejects(
    () => store.set("/k", new Uint8Array(1)),
    Error,
    "Cannot PUT https://example.org/k: expected status 200, 201, 204, found 404",
  );
  await store.delete("/k");
});

Deno.test("WritableHttpStore refuses to change chunks of several objects, and sends no request", async () => {
  const store = new WritableHttpStore("https://example.org", {
    fetch: () => Promise.reject(new Error("No request is expected")),
  });
  const composed = new ConcatParts([{ keySuffix: "" }, {
    keySuffix: ".index",
    size: 2,
  }]).apply(store);
  const message = "Cannot change chunk";
  await assertRejects(
    () => composed.set("/c/0", new Uint8Array(9)),
    TypeError,
    message,
  );
  await assertRejects(() => composed.delete("/c/0"), TypeError, message);
});

Deno.test("WritableHttpStore locks a chunk that a store of whole chunks has locked", async () => {
  const below = new MemoryStore();
  const store = new ConcatParts([{ keySuffix: ".bin" }]).apply(
    new WritableHttpStore("https://example.org", {
      fetch: writableHandler(below),
    }),
  );
  await store.group("/c/0", ["/c/0"]).lock!(async (group) => {
    const writer = await group.write!();
    await writer.set("/c/0", new Uint8Array([1]));
    await writer.close();
  });
  assertEquals(await below.get("/c/0.bin"), new Uint8Array([1]));
});
