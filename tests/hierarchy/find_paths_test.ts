/** The nodes whose documents a store lists. */
import { assertEquals } from "@std/assert";
import { MemoryStore } from "../../mod.ts";
import { findPaths } from "../../src/hierarchy/mod.ts";

const DOCUMENTS = ["b/zarr.json", "b/c/.zarray", "b/c/0.0", "b/a/zarr.json"];

Deno.test("findPaths lists the nodes at and below a place, and says whether they are all", async () => {
  const store = new MemoryStore(
    DOCUMENTS.map((key) => [`/${key}`, new Uint8Array()]),
  );
  const place = { store, root: "/b" } as const;
  const cases: [object, string[], areAll: boolean][] = [
    [{}, ["", "a", "c"], true],
    [{ withoutV2: true }, ["", "a"], true],
    [{ nodes: 4, keys: 5 }, ["", "a", "c"], true],
    [{ nodes: 1 }, [""], false],
    [{ keys: 3 }, ["", "c"], false],
  ];
  for (const [limits, paths, areAll] of cases) {
    const found = await findPaths(place, undefined, {}, limits);
    assertEquals(found, { paths, areAll }, JSON.stringify(limits));
  }
});
