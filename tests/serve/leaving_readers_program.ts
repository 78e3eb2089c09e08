/**
 * A program that serves a terabyte to readers that leave and a store that stalls, and prints
 * by how many MiB its memory has grown: tests run beside each other in one process, whose
 * memory tells nothing of one of them.
 */
import { assert, assertEquals } from "@std/assert";
import type { Store } from "../../mod.ts";
import { createHandler, type HandlerOptions } from "../../serve.ts";
import { serve } from "../stores/loopback.ts";
import { LargeStore } from "./large_store.ts";

const { gc } = globalThis as { gc?: () => void };
assert(gc, "Expected --v8-flags=--expose-gc");

const store = new LargeStore(2 ** 40);
const stalling: Store = { get: () => new Promise(() => {}) };
const options: HandlerOptions = { form: "stored", timeout: 50, onError() {} };
const server = serve(createHandler(store, options));
const stalled = createHandler(stalling, options);
const port = Number(new URL(server.url).port);

/** Opens connections that ask for a terabyte, take a little and leave. */
async function load(): Promise<void> {
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      const text = "GET /c/0 HTTP/1.1\r\nHost: x\r\n\r\n";
      await connection.write(new TextEncoder().encode(text));
      await connection.read(new Uint8Array(1000));
      await new Promise((resolve) => setTimeout(resolve, 20));
      connection.close();
      const response = await stalled(new Request("http://x/c/0"));
      assertEquals(response.status, 502);
    }),
  );
}

for (let i = 0; i < 4; i++) await load();
gc();
const before = Deno.memoryUsage().rss;
for (let i = 0; i < 15; i++) await load();
gc();
console.log((Deno.memoryUsage().rss - before) / 2 ** 20);
await server.close();
const { bytesRead: read } = store;
await new Promise((resolve) => setTimeout(resolve, 50));
assertEquals(store.bytesRead, read);
