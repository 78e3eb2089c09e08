import { assertEquals } from "@std/assert";
import { MemoryStore, type Store } from "../../mod.ts";
import {
  findPaths,
  isInvalid,
  placeOf,
  readNodes,
} from "../../src/hierarchy/mod.ts";
import { encodeJson } from "../support/documents.ts";

const GROUP = encodeJson({ zarr_format: 3, node_type: "group" });

Deno.test("readNodes reads up to 16 documents at once, and reports failures in the order of the paths", async () => {
  const stored = new MemoryStore();
  await stored.set("/zarr.json", GROUP);
  const paths = Array.from({ length: 40 }, (_, i) => `group${10 + i}`);
  for (const path of paths) {
    const isInvalid = path === "group15" || path === "group12";
    await stored.set(
      `/${path}/zarr.json`,
      isInvalid ? encodeJson({ zarr_format: 4 }) : GROUP,
    );
  }
  let reading = 0;
  let most = 0;
  const store: Store = {
    async get(key) {
      most = Math.max(most, ++reading);
      // The first of the invalid documents comes last.
      const delay = key.includes("group12") ? 20 : 1;
      await new Promise((resolve) => setTimeout(resolve, delay));
      reading--;
      return await stored.get(key);
    },
    list: (prefix) => stored.list(prefix),
  };
  const { nodes, failed } = await readNodes(placeOf(store), {}, {
    isLeftOut: isInvalid,
  });
  const invalid = failed.map(({ path }) => path);
  assertEquals(invalid, ["group12", "group15"]);
  assertEquals(
    nodes.map(({ path }) => path),
    ["", ...paths.filter((path) => !invalid.includes(path))],
  );
  assertEquals(most, 16);
});

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
