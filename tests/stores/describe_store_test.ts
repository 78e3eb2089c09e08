import { assertEquals } from "@std/assert";
import { FileSystemStore as ZarritaFileSystemStore } from "@zarrita/storage";
import { inspect } from "node:util";
import { FetchStore } from "zarrita";
import { FileSystemStore, HttpStore, MemoryStore } from "../../mod.ts";
import { describeStore } from "../../src/stores/describe_store.ts";

const bytes = new Uint8Array();

const OURS: [store: object, description: string][] = [
  [new MemoryStore(), "MemoryStore(0)"],
  [new MemoryStore([["/a", bytes], ["/b", bytes]]), "MemoryStore(2)"],
  [new FileSystemStore("data/x.zarr"), "FileSystemStore(data/x.zarr)"],
  [
    new FileSystemStore(new URL("file:///data/x%20y.zarr")),
    "FileSystemStore(/data/x y.zarr)",
  ],
  [
    new HttpStore("https://example.org/x.zarr"),
    "HttpStore(https://example.org/x.zarr)",
  ],
  [
    new HttpStore("https://example.org/x.zarr?token=secret#secret"),
    "HttpStore(https://example.org/x.zarr?…)",
  ],
];

class Named {
  get = () => Promise.resolve(undefined);
}

const FOREIGN: [store: unknown, description: string][] = [
  [
    new FetchStore("https://user:secret@example.org/x.zarr?token=secret"),
    "FetchStore(https://example.org/x.zarr?…)",
  ],
  [
    new FetchStore(new URL("https://user:sec%40ret@example.org/x.zarr")),
    "FetchStore(https://example.org/x.zarr)",
  ],
  [
    new FetchStore("https://u:p@ss@example.org"),
    "FetchStore(https://example.org)",
  ],
  [new FetchStore("//u:p@example.org/x"), "FetchStore(//example.org/x)"],
  [new FetchStore("/x.zarr?a\nb"), "FetchStore(/x.zarr?…)"],
  [
    new FetchStore("https://example.org/@x"),
    "FetchStore(https://example.org/@x)",
  ],
  [new ZarritaFileSystemStore("/data/x.zarr"), "FileSystemStore(/data/x.zarr)"],
  [new Map([["/zarr.json", bytes]]), "Map(1)"],
  [new Named(), "Named"],
  [{ get: () => bytes }, "a store object"],
  [Object.create(null), "a store object"],
  [{ root: "/data", constructor: undefined }, "Store(/data)"],
  [{ toString: () => "bucket x" }, "bucket x"],
  ["https://u:p@example.org/?token=secret", '"https://example.org/?…"'],
  [undefined, "undefined"],
  [null, "null"],
  [7, "7"],
];

Deno.test("describeStore returns the class and the path or URL of a store, without secrets", () => {
  for (const [store, description] of [...OURS, ...FOREIGN]) {
    assertEquals(describeStore(store), description);
  }
});

Deno.test("console.log prints the description of a store, in Deno and in Node", () => {
  for (const [store, description] of OURS) {
    assertEquals(String(store), description);
    assertEquals(Deno.inspect(store), description);
    assertEquals(inspect({ store }), `{ store: ${description} }`);
  }
});
