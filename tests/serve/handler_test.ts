import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import {
  FileSystemStore,
  MemoryStore,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import {
  allowsRange,
  failedCondition,
  validatorsOf,
} from "../../src/serve/request.ts";
import { withZarrParts } from "../../zarrita.ts";
import { encodeJson } from "../support/documents.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import {
  bytesOf,
  CHUNK,
  createInParts,
  HEADER_SIZE,
  served,
  storeInParts,
} from "./serving.ts";

const PATH = "/dem/c/2/1";

Deno.test("createHandler shows documents as plain Zarr, consolidated metadata included", async () => {
  const get = served(await storeInParts());
  const array = await get("/dem/zarr.json");
  assertEquals(array.headers.get("content-type"), "application/json");
  const document = await array.json();
  assertEquals(document.chunk_key_encoding, {
    name: "default",
    configuration: { separator: "/" },
  });
  assertEquals("storage_transformers" in document, false);
  const group = await (await get("/zarr.json")).json();
  assertEquals(group.consolidated_metadata.metadata.dem, document);
});

Deno.test("createHandler sends all headers of a value", async () => {
  const get = served(await storeInParts());
  const response = await get(PATH);
  const { headers } = response;
  assertMatch(headers.get("etag")!, /^"[\w.-]+"$/);
  const etag = headers.get("etag")!;
  assertEquals(Object.fromEntries(headers), {
    "accept-ranges": "bytes",
    "access-control-allow-origin": "*",
    "access-control-expose-headers":
      "Accept-Ranges, Age, Content-Encoding, Content-Length, Content-Range, Date, ETag, Last-Modified",
    "cache-control": "no-cache, no-transform",
    "content-length": "1000",
    "content-type": "application/octet-stream",
    "cross-origin-resource-policy": "cross-origin",
    "etag": etag,
    "x-content-type-options": "nosniff",
  });
  assertEquals(await bytesOf(response), CHUNK);
  const head = await get(PATH, { method: "HEAD" });
  assertEquals(Object.fromEntries(head.headers), Object.fromEntries(headers));
  assertEquals(head.body, null);
  assertEquals(get.errors, []);
});

/** Spellings of ranges that the oracle does not know, and the first and last byte that is sent. */
const RANGES: [range: string, first: number, last: number][] = [
  ["BYTES=1-2", 1, 2],
  ["bytes= 1-2 ,", 1, 2],
  ["bytes=62-965", 62, 965],
  ["bytes=--1", 0, 999],
  ["bytes=+1-2", 0, 999],
  ["bytes=0x1-2", 0, 999],
  ["bytes=-1,-2", 0, 999],
];

Deno.test("createHandler answers a Range in any spelling", async () => {
  const get = served(await storeInParts());
  for (const [range, first, last] of RANGES) {
    const response = await get(PATH, { headers: { range } });
    assertEquals(response.status, last === 999 ? 200 : 206, range);
    const bytes = await bytesOf(response);
    assertEquals(bytes, CHUNK.slice(first, last + 1), range);
  }
});

Deno.test("createHandler evaluates conditions by the time of files, to the second", async () => {
  await inTempDir(async (folder) => {
    await createInParts(new FileSystemStore(folder));
    const parts = [".header", "", ".index"];
    for (const part of parts) {
      const date = new Date("2026-01-02T03:04:05.678Z");
      await Deno.utime(`${folder}/dem/c/2/1.shard${part}`, date, date);
    }
    const get = served(new FileSystemStore(folder));
    const same = "Fri, 02 Jan 2026 03:04:05 GMT";
    const before = "Fri, 02 Jan 2026 03:04:04 GMT";
    const after = "Fri, 02 Jan 2026 03:04:06 GMT";
    const range = "bytes=0-9";
    const cases: [Record<string, string>, number][] = [
      [{}, 200],
      [{ "if-modified-since": before }, 200],
      [{ "if-modified-since": same }, 304],
      [{ "if-modified-since": after }, 304],
      [{ "if-modified-since": "Friday, 02-Jan-26 03:04:05 GMT" }, 304],
      [{ "if-modified-since": "Fri Jan  2 03:04:05 2026" }, 304],
      [{ "if-modified-since": "2026-01-03" }, 200],
      [{ "if-modified-since": same, "if-none-match": '"x"' }, 200],
      [{ "if-unmodified-since": before }, 412],
      [{ "if-unmodified-since": same }, 200],
      [{ "if-unmodified-since": before, "if-match": "*" }, 200],
      [{ "if-range": same, range }, 206],
      [{ "if-range": before, range }, 200],
      [{ "if-range": after, range }, 200],
    ];
    for (const [headers, status] of cases) {
      const response = await get(PATH, { headers });
      const message = JSON.stringify(headers);
      assertEquals(response.status, status, message);
      assertEquals(response.headers.get("last-modified"), same, message);
      await response.body?.cancel();
    }
  });
});

Deno.test("createHandler takes a date of If-Range for a version only if it is a second old", () => {
  const modified = Date.UTC(2026, 0, 2, 3, 4, 5);
  const headers = new Headers({ "if-range": "Fri, 02 Jan 2026 03:04:05 GMT" });
  const validated = validatorsOf("x", modified);
  assertEquals(allowsRange(headers, validated, modified + 999), false);
  assertEquals(allowsRange(headers, validated, modified + 1000), true);
});

Deno.test("createHandler takes all dates of conditions for GMT, in any time zone", () => {
  const zone = Deno.env.get("TZ");
  const modified = Date.UTC(2026, 0, 2, 3, 4, 5);
  try {
    for (const other of ["America/New_York", "Asia/Tokyo"]) {
      Deno.env.set("TZ", other);
      assert(new Date(modified).getTimezoneOffset() !== 0);
      for (
        const date of [
          "Fri, 02 Jan 2026 03:04:05 GMT",
          "Friday, 02-Jan-26 03:04:05 GMT",
          "Fri Jan  2 03:04:05 2026",
        ]
      ) {
        const statusAt = (modified: number) =>
          failedCondition(
            new Headers({ "if-modified-since": date }),
            validatorsOf(undefined, modified),
          );
        assertEquals(statusAt(modified), 304, date);
        assertEquals(statusAt(modified + 1000), undefined, date);
      }
    }
  } finally {
    if (zone === undefined) Deno.env.delete("TZ");
    else Deno.env.set("TZ", zone);
  }
});

Deno.test("createHandler gives no entity tag to files that were written a moment ago", async () => {
  await inTempDir(async (folder) => {
    await createInParts(new FileSystemStore(folder));
    const get = served(new FileSystemStore(folder));
    const response = await get(PATH);
    assertEquals(response.headers.has("etag"), false);
    assertEquals(await bytesOf(response), CHUNK);
    // Nothing holds the files open: the sanitizer of resources would find them.
    assertEquals((await get(PATH, { method: "HEAD" })).status, 200);
  });
});

Deno.test("createHandler has another entity tag for each version", async () => {
  const store = new MemoryStore();
  const chunks = await createInParts(store);
  const get = served(store);
  const tags = new Set<string>();
  for (let i = 0; i < 5; i++) {
    await chunks.set([2, 1], CHUNK); // The same bytes are a version, too.
    const response = await get(PATH, { headers: { range: "bytes=1-2" } });
    assertEquals(await bytesOf(response), CHUNK.slice(1, 3));
    const etag = response.headers.get("etag")!;
    tags.add(etag);
    const old = [...tags].filter((tag) => tag !== etag).join();
    const again = await get(PATH, { headers: { "if-match": old || '"x"' } });
    assertEquals(again.status, 412);
  }
  assertEquals(tags.size, 5);
});

/** Paths that are no values, and the status of the answer. */
const NO_VALUES: [path: string, status: number][] = [
  ["/dem/c/2/0", 404],
  ["/dem/c/3/0", 404],
  ["/dem/c/2", 404],
  ["/dem/c/2/1/0", 404],
  ["/dem/c/02/1", 404],
  ["/dem/c", 404],
  ["/dem", 404],
  ["/no/", 404],
  ["/dem/c/", 404],
  ["/no/zarr.json", 404],
  ["/no/c/0", 404],
  ["/zarr.json/zarr.json", 404],
  ["/dem/.zarr-parts-tmp-journal-1", 404],
  [`/${"a".repeat(300)}`, 404],
  [`/${"a/".repeat(400)}b`, 404],
  [`/${"a".repeat(1024)}`, 400],
  ["/dem//c/2/1", 400],
  ["/dem/%2e%2e/x", 404], // The URL is /x.
  ["/dem/..%2fzarr.json", 400],
  ["/dem/..%5czarr.json", 400],
  ["/dem/%2fzarr.json", 400],
  ["/%00", 400],
  ["/dem/c/2%001", 400],
  ["/%0a", 400],
  ["/%", 400],
  ["/%zz", 400],
  ["/%ff", 400],
  ["/%ed%a0%80", 400],
  ["/%C3%A9", 404],
];

Deno.test("createHandler answers 400 or 404 for what is no value", async () => {
  await inTempDir(async (folder) => {
    const files = new FileSystemStore(`${folder}/root`);
    await createInParts(files);
    await Deno.writeTextFile(`${folder}/zarr.json`, "{}");
    const stores: Store[] = [await storeInParts(), files];
    for (const store of stores) {
      const get = served(store);
      for (const [path, status] of NO_VALUES) {
        const response = await get(path);
        assertEquals(response.status, status, `${path} of ${store}`);
        assertEquals(response.headers.get("cache-control"), "no-store");
        await bytesOf(response);
      }
      assertEquals(get.errors, []);
    }
  });
});

Deno.test("createHandler lists the nodes in a folder, and consolidates those below the root", async () => {
  const store = await storeInParts();
  await createInParts(prefixed(store, "/a/b"));
  await store.set(
    "/zarr.json",
    encodeJson({ zarr_format: 3, node_type: "group" }),
  );
  for (const form of ["plain", "stored"] as const) {
    const get = served(store, { form, mount: "/data" });
    const listings: [path: string, nodes: string[]][] = [
      ["/data", ["", "a/b", "a/b/dem", "dem"]],
      ["/data/", ["", "a/b", "a/b/dem", "dem"]],
      ["/data/a/", ["b", "b/dem"]],
      ["/data/dem/", [""]],
    ];
    for (const [path, nodes] of listings) {
      const response = await get(path);
      const folder = path.slice("/data".length) || "/";
      assertEquals(response.headers.get("content-type"), "application/json");
      assertEquals(await response.json(), { folder, nodes, areAll: true });
    }
    const root = await (await get("/data/zarr.json")).json();
    if (form === "stored") assertEquals(root.consolidated_metadata, undefined);
    else {
      const { metadata } = root.consolidated_metadata;
      assertEquals(Object.keys(metadata), ["a/b", "a/b/dem", "dem"]);
      const document = await (await get("/data/dem/zarr.json")).json();
      assertEquals(metadata.dem, document);
    }
  }
  const unlisted = served({ get: (key) => store.get(key) });
  assertEquals(await (await unlisted("/")).json(), {
    folder: "/",
    nodes: [""],
    areAll: false,
  });
  // A node that cannot be read is no reason to answer nothing.
  await store.set("/dem/zarr.json", new TextEncoder().encode("{"));
  const root = await (await served(store)("/zarr.json")).json();
  assertEquals(root.consolidated_metadata, undefined);
});

/** A store whose keys get a prefix. */
function prefixed(store: Store, prefix: StoreKey): Store {
  return {
    get: (key) => store.get(`${prefix}${key}`),
    set: (key, value) => store.set!(`${prefix}${key}`, value),
  };
}

Deno.test("createHandler shows other values as they are stored", async () => {
  const store = await storeInParts();
  const readme = new TextEncoder().encode("Elevation");
  await store.set("/dem/read me#1.txt", readme);
  const get = served(store);
  const response = await get("/dem/read%20me%231.txt?version=3");
  assertEquals(await bytesOf(response), readme);
  assertStringIncludes(response.headers.get("content-type")!, "text/plain");
  const part = await get("/dem/c/2/1.shard.header");
  assertEquals(await bytesOf(part), CHUNK.slice(0, HEADER_SIZE));
});

Deno.test("createHandler shows a store as it is stored", async () => {
  const store = await storeInParts();
  const get = served(store, { form: "stored" });
  const document = await get("/dem/zarr.json");
  assertEquals(await bytesOf(document), await store.get("/dem/zarr.json"));
  assertEquals(document.headers.has("etag"), true);
  assertEquals((await get(PATH)).status, 404);
  const part = await get(`${PATH}.shard.header`);
  assertEquals(await bytesOf(part), CHUNK.slice(0, HEADER_SIZE));
});

Deno.test("createHandler serves a store below a mount", async () => {
  const store = await storeInParts();
  for (const mount of ["/a/data", "/a/data/"]) {
    const get = served(store, { mount });
    assertEquals(await bytesOf(await get(`/a/data${PATH}`)), CHUNK);
    for (const path of [PATH, "/a/dataset/zarr.json", "/a"]) {
      const response = await get(path);
      assertEquals(response.status, 404, path);
      await response.body?.cancel();
    }
  }
});

Deno.test("createHandler answers OPTIONS, and refuses other methods", async () => {
  const get = served(await storeInParts());
  const options = await get(PATH, { method: "OPTIONS" });
  assertEquals(options.status, 204);
  const { headers } = options;
  assertEquals(headers.get("allow"), "GET, HEAD, OPTIONS");
  assertEquals(
    headers.get("access-control-allow-methods"),
    "GET, HEAD, OPTIONS",
  );
  assertEquals(
    headers.get("access-control-allow-headers"),
    "Range, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, If-Range",
  );
  assertEquals(headers.get("access-control-max-age"), "86400");
  for (const method of ["POST", "PUT", "DELETE", "PATCH", "PROPFIND", "get2"]) {
    const response = await get(PATH, { method });
    assertEquals(response.status, 405, method);
    assertEquals(response.headers.get("allow"), "GET, HEAD, OPTIONS");
    await response.body?.cancel();
  }
});

Deno.test("createHandler sends a value of no bytes", async () => {
  const store = new MemoryStore([["/empty", new Uint8Array()]]);
  const get = served(store);
  const cases: [string | undefined, number][] = [
    [undefined, 200],
    ["bytes=0-", 416],
    ["bytes=0-9", 416],
    ["bytes=-0", 416],
    ["bytes=-5", 200], // RFC 9110 lets a server ignore it, and no Content-Range fits.
  ];
  for (const [range, status] of cases) {
    const response = await get("/empty", range ? { headers: { range } } : {});
    assertEquals(response.status, status, range);
    if (status === 200) assertEquals((await bytesOf(response)).length, 0);
    else assertEquals(response.headers.get("content-range"), "bytes */0");
    await response.body?.cancel();
  }
});

Deno.test("createHandler reads stores that tell no versions", async () => {
  const stored = new Map(await entriesOf(await storeInParts()));
  const get = served(stored as unknown as Store);
  const response = await get(PATH);
  assertEquals(await bytesOf(response), CHUNK);
  const etag = response.headers.get("etag")!;
  assert(etag);
  const range = await get(PATH, {
    headers: { range: "bytes=-40", "if-match": etag },
  });
  assertEquals(range.status, 206);
  assertEquals(await bytesOf(range), CHUNK.slice(-40));
  await stored.set("/dem/c/2/1.shard.header", new Uint8Array(HEADER_SIZE));
  const changed = await get(PATH, { headers: { "if-match": etag } });
  assertEquals(changed.status, 412);
  await changed.body?.cancel();
});

async function entriesOf(
  store: MemoryStore,
): Promise<[string, Uint8Array][]> {
  const keys = await Array.fromAsync(store.list());
  return await Promise.all(
    keys.map(async (key) =>
      [key, (await store.get(key))!] as [string, Uint8Array]
    ),
  );
}

Deno.test("createHandler shows documents of Zarr v2 only as they are stored", async () => {
  const store = await storeInParts();
  const names = [".zarray", ".zgroup", ".zattrs", ".zmetadata"];
  for (const name of names) {
    for (const root of ["", "/dem", "/old"]) {
      await store.set(
        `${root}/${name}` as StoreKey,
        new Uint8Array([123, 125]),
      );
    }
  }
  for (const form of ["plain", "inner chunks", "stored"] as const) {
    const get = served(store, { form });
    for (const name of names) {
      for (const root of ["", "/dem", "/old"]) {
        const response = await get(`${root}/${name}`);
        const isShown = form === "stored";
        assertEquals(response.status, isShown ? 200 : 404, form + root + name);
        await response.body?.cancel();
      }
    }
  }
});

Deno.test("createHandler serves each inner chunk of shards, whole, by ranges and its length", async () => {
  const store = new FileSystemStore("tests/fixtures/dem.zarr");
  const get = served(store, { form: "inner chunks" });
  const shown = withZarrParts(store);
  await Promise.all(["/c/0/0", "/c/3/4", "/c/10/10"].map(async (key) => {
    const expected = await shown.get(key as StoreKey);
    assert(expected !== undefined, key);
    assertEquals(await bytesOf(await get(key)), expected, key);
    const headers = { range: "bytes=1-16383" };
    const part = await bytesOf(await get(key, { headers }));
    assertEquals(part, expected.slice(1), key);
    const head = await get(key, { method: "HEAD" });
    assertEquals(head.headers.get("content-length"), `${expected.length}`);
  }));
});
