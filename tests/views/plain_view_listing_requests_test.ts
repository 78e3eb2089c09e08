import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { plainView } from "../../mod.ts";
import { listed } from "../stores/store_values.ts";
import { arrayInParts, smallHierarchy } from "../support/in_parts.ts";
import { logged, observed, type Request } from "../support/observed_store.ts";
import { assertListsSame } from "../support/same_store.ts";

const BYTES = Uint8Array.of(1, 2, 3);

Deno.test("plainView asks for the document of each array once for all listings", async () => {
  const { stored, plain } = await smallHierarchy();
  const { store, log } = logged(stored);
  const view = plainView(store);
  await listed(view);
  assertEquals(log.filter((request) => request.startsWith("get ")).sort(), [
    "get /g/parts/zarr.json",
    "get /g/plain/zarr.json",
    "get /g/zarr.json",
    "get /zarr.json",
  ]);
  log.length = 0;
  await listed(view, "/g/");
  assertEquals(log.filter((request) => request.startsWith("get ")), [
    "get /zarr.json", // What is absent may be created.
  ]);
  await assertListsSame(view, plain);
});

Deno.test("plainView lists a translated array once, and passes the signal on", async () => {
  const { stored } = await arrayInParts("a");
  const { signal } = new AbortController();
  for (const prefix of ["/a/", "/a/c/0/", "/", "/a"] as const) {
    const requests: Request[] = [];
    const store = observed(stored, (request) => requests.push(request));
    await Array.fromAsync(plainView(store).list!(prefix, { signal }));
    const lists = requests.filter(({ method }) => method === "list");
    assertEquals(
      lists.map(({ key }) => key),
      prefix.startsWith("/a/") ? ["/a/"] : [prefix, prefix, "/a/"],
    );
    for (const { options } of lists) {
      assertStrictEquals(options?.signal, signal);
    }
  }
});

Deno.test("plainView stops listing a translated array with the signal's reason", async () => {
  const { stored, chunks } = await arrayInParts("a");
  for (const row of [0, 1, 2]) await chunks.set([row, 0], BYTES);
  const reason = new Error("enough");
  for (const prefix of ["/", "/a", "/a/", "/a/c/"] as const) {
    const controller = new AbortController();
    const { signal } = controller;
    let given = 0;
    const listing = async () => {
      for await (const _ of plainView(stored).list(prefix, { signal })) {
        given++;
        controller.abort(reason);
      }
    };
    assertStrictEquals(await assertRejects(listing), reason);
    assertEquals(given, 1);
  }
});
