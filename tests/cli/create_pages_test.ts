import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import config from "../../deno.json" with { type: "json" };
import {
  arrayMetadata,
  crc32c,
  createArrayChunks,
  HttpStore,
  MemoryStore,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { MODULES } from "../../src/cli/page/assets.ts";
import { choosePictureAxes, mapChunks } from "../../src/cli/page/drawings.ts";
import { createPages } from "../../src/cli/page/create_pages.ts";
import { encodeJson, V2_GROUP, v2Metadata } from "../support/documents.ts";
import { runs } from "../support/runs.ts";

Deno.test("pages load the versions of npm packages that deno.json pins", () => {
  for (const [name, specifier] of MODULES) {
    const [pinned, version] = Object.entries(config.imports)
      .find(([pinned]) => name === pinned || name.startsWith(`${pinned}/`))!;
    assertEquals(specifier, version + name.slice(pinned.length));
  }
});

const GROUP = new TextEncoder().encode(
  '{"zarr_format":3,"node_type":"group","attributes":{}}',
);

/** A store with a group, an array in parts in it, and one shard of the array. */
async function exampleStore(): Promise<MemoryStore> {
  const store = new MemoryStore([["/zarr.json", GROUP]]);
  const chunks = await createArrayChunks(
    store,
    "maps/elevation",
    arrayMetadata({
      shape: [40, 60],
      dataType: "uint8",
      shardShape: [20, 20],
      chunkShape: [10, 10],
      suffix: ".shard",
      parts: ["", ".index"],
      dimensionNames: ["</script><script>alert(1)</script>", null],
      attributes: { note: "</script><script>alert(1)</script>" },
    }),
  );
  const index = new Uint8Array(68).fill(255);
  new DataView(index.buffer).setUint32(64, crc32c(index.subarray(0, 64)), true);
  await chunks.set([1, 2], new Uint8Array([...new Uint8Array(100), ...index]));
  return store;
}

function ask(
  pages: ReturnType<typeof createPages>,
  path: string,
  init?: RequestInit,
): Promise<Response | undefined> {
  return pages(
    new Request(`http://host${path}`, {
      headers: { Accept: "text/html,*/*" },
      ...init,
    }),
  );
}

async function textOf(
  pages: ReturnType<typeof createPages>,
  path: string,
): Promise<string> {
  const response = await ask(pages, path);
  assertEquals(response?.status, 200, path);
  return await response!.text();
}

Deno.test("pages answer browsers that ask for nodes, and nobody else", async () => {
  const pages = createPages(await exampleStore(), "data");
  const json = { headers: { Accept: "*/*" } };
  const cases: [string, RequestInit | undefined, number | undefined][] = [
    ["/", undefined, 200],
    ["/maps", undefined, 200],
    ["/maps/elevation/", undefined, 200],
    ["/maps/elevation?chunk=1,2", undefined, 200],
    ["/maps/elevation?chunk=9,9", undefined, 200],
    ["/maps/elevation?chunk=-1,a", undefined, 200],
    ["/maps/elevation?chunk=&chunk=", undefined, 200],
    ["/", { method: "HEAD", headers: { Accept: "text/html" } }, 200],
    ["/", json, undefined],
    ["/maps/elevation", json, undefined],
    ["/", { method: "POST" }, undefined],
    ["/zarr.json", undefined, undefined],
    ["/maps/elevation/c/1/2", undefined, undefined],
    ["/maps/elevatio", undefined, undefined],
    ["/%E0%A4%A", undefined, undefined],
    ["/%00", undefined, undefined],
    ["/maps/../x", undefined, undefined],
    ["/__page__/page.css", json, 200],
    ["/__page__/script.js", json, 200],
    ["/__page__/other.js", json, 404],
    ["/__page__/modules/zarrita/", json, 200],
    ["/__page__/modules/zarrita/util.js", json, 200],
    ["/__page__/modules/numcodecs%2Fzstd/", json, 200],
    ["/__page__/modules/zarrita/missing.js", json, 404],
    ["/__page__/modules/zarrita/util.js/x.js", json, 404],
    ["/__page__/modules/zarrita/..%2f..%2fpackage.json", json, 404],
    ["/__page__/modules/zarrita/%2e%2e%2f%2e%2e%2fx.js", json, 404],
    ["/__page__/modules/zarrita//etc/passwd.js", json, 404],
    ["/__page__/modules/zarrita/http://host/x.js", json, 404],
    ["/__page__/modules/zarrita/file:///etc/x.js", json, 404],
    ["/__page__/modules/fs/", json, 404],
    ["/__page__/modules/%E0%A4%A/", json, 404],
    ["/__page__/modules/zarrita///%5B", json, 404],
    ["/__page__/modules/zarrita/%ff.js", json, 404],
  ];
  for (const [path, init, status] of cases) {
    const response = await ask(pages, path, init);
    assertEquals(response?.status, status, path);
    await response?.body?.cancel();
  }
});

Deno.test("a page shows the nodes, the layout, the stored chunks and the parts of one", async () => {
  const pages = createPages(await exampleStore(), "data", {
    mount: "/mount",
  });
  const text = await textOf(pages, "/mount/maps/elevation");
  const shown = [
    'href="/mount/maps/elevation"',
    'href="http://host/mount/maps/elevation/zarr.json"',
    "40 × 60",
    "1 of 6 shards is stored.",
    '<form class="choose"',
    "Shard 1, 2",
    "168 B in 2 objects, with 0 of 4 inner chunks of 10 × 10",
    "<code>c/1/2.shard</code>",
    "<code>c/1/2.shard.index</code>",
    "zarr.open_array(&quot;http://host/mount/maps/elevation&quot;",
  ];
  for (const part of shown) assert(text.includes(part), part);
  const absent = await textOf(pages, "/mount/maps/elevation?chunk=0,1");
  assert(absent.includes("all its elements have the fill value"));
  assertEquals(await ask(pages, "/maps/elevation"), undefined);
});

Deno.test("a page asks for no chunk but the one that it shows", async () => {
  const store = await exampleStore();
  const asked: string[] = [];
  const size = store.size.bind(store);
  store.size = (key, options) => {
    asked.push(key);
    return size(key, options);
  };
  const pages = createPages(store, "data");
  for (const chunk of ["", "?chunk=1,2"]) {
    asked.length = 0;
    await textOf(pages, `/maps/elevation${chunk}`);
    const shard = "/maps/elevation/c/1/2.shard";
    assertEquals(new Set(asked), new Set([shard, `${shard}.index`]), chunk);
  }
});

Deno.test("a page escapes the texts of a store, and runs no script but its own", async () => {
  const store = await exampleStore();
  const evil = "<img src=x onerror=alert(1)>";
  await store.set(`/${evil}/zarr.json`, GROUP);
  const pages = createPages(store, evil);
  for (const path of ["/", "/maps/elevation", `/${encodeURIComponent(evil)}`]) {
    const response = await ask(pages, path);
    const text = await response!.text();
    assertEquals(text.includes("<img"), false, path);
    assertEquals(text.includes("alert(1)</script>"), false, path);
    const policy = response!.headers.get("Content-Security-Policy")!;
    const [, nonce] = /'nonce-([^']+)'/.exec(policy) ?? [];
    assertMatch(policy, /^default-src 'none'; .*base-uri 'none'/);
    assert(text.includes(`<script type="importmap" nonce="${nonce}">`), path);
  }
});

Deno.test("the code that a page offers runs nothing that a store names", async () => {
  const store = await exampleStore();
  const name = "a'*__import__('os').system('id')*'b";
  for (const document of ["zarr.json", "elevation/zarr.json"]) {
    const bytes = await store.get("/maps/elevation/zarr.json");
    await store.set(`/${name}/${document}` as StoreKey, bytes!);
  }
  const pages = createPages(store, "data");
  const text = await textOf(pages, `/${encodeURIComponent(name)}`);
  const url = "http://host/a%27*__import__(%27os%27).system(%27id%27)*%27b";
  assert(text.includes(`gdalmdiminfo &#39;ZARR:&quot;/vsicurl/${url}&quot;`));
  assert(text.includes(`Layer(&#39;ZARR:&quot;/vsicurl/${url}&quot;`));
});

Deno.test("a page says what is wrong with a node, and does not pass it off as absent", async () => {
  const store = await exampleStore();
  await store.set("/broken/zarr.json", new Uint8Array([123]));
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const response = await ask(
    createPages(store, "data", { onError }),
    "/broken",
  );
  assertEquals(response?.status, 502);
  assertMatch(
    await response!.text(),
    /\/broken\/zarr\.json: The metadata is inv/,
  );
  assertEquals(errors.length, 1);
});

Deno.test("a page with a damaged shard shows all but the shard", async () => {
  const damages: ((store: MemoryStore) => Promise<void>)[] = [
    (store) => store.delete("/maps/elevation/c/1/2.shard.index"),
    (store) =>
      store.set("/maps/elevation/c/1/2.shard.index", new Uint8Array(9)),
    (store) =>
      store.set("/maps/elevation/c/1/2.shard.index", new Uint8Array(68)),
  ];
  for (const damage of damages) {
    const store = await exampleStore();
    await damage(store);
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const pages = createPages(store, "data", { onError });
    for (const query of ["", "?chunk=1,2"]) {
      const text = await textOf(pages, `/maps/elevation${query}`);
      const shown = [
        /Shard 1, 2<\/h2>\s*<p class="alert" role="alert">The stored data is damaged: [^<]*c\/1\/2\.shard/,
        /1 of 6 shards is stored\./,
        /40 × 60/,
        /Attributes/,
        /zarr\.open_array/,
        /"chunk":\[1,2\]/,
      ];
      for (const part of shown) assertMatch(text, part);
    }
    assertEquals(errors.length, 2);
    const other = await textOf(pages, "/maps/elevation?chunk=0,1");
    assertEquals(other.includes('alert"'), false);
  }
});

Deno.test("a page of an array whose chunks cannot be listed shows all but their map", async () => {
  const store = await exampleStore();
  const list = store.list.bind(store);
  store.list = (prefix, options) => {
    if (prefix === "/") return list(prefix, options);
    throw new Error("EIO: /srv/secret");
  };
  const pages = createPages(store, "data", { onError() {} });
  const text = await textOf(pages, "/maps/elevation?chunk=1,2");
  assertMatch(text, /role="alert">[^<]*The store behind this server failed\./);
  assertMatch(text, /168 B in 2 objects/);
  assertEquals(text.includes("secret"), false);
});

Deno.test("a page of a group shows its attributes, what it holds and how to open it", async () => {
  const store = await exampleStore();
  const group = (attributes: unknown) =>
    encodeJson({ zarr_format: 3, node_type: "group", attributes });
  await store.set("/a/zarr.json", group({ "<i>title": "Maps" }));
  await store.set("/a/b/zarr.json", group({}));
  await store.set("/a/c/zarr.json", new Uint8Array([123]));
  const array = await store.get("/maps/elevation/zarr.json");
  await store.set("/a/b/dem/zarr.json", array!);
  await store.set("/d/old/.zarray", encodeJson(v2Metadata()));
  await store.set("/d/bad/.zarray", encodeJson(v2Metadata({ dtype: "|O" })));
  await store.set("/d/.zgroup", encodeJson(V2_GROUP));
  const pages = createPages(store, "data");
  const cases: [path: string, parts: RegExp[]][] = [
    ["/", [
      /A group with 3 arrays, 3 groups and 2 nodes that cannot be read\./,
    ]],
    ["/a", [
      /A group with 1 array, 1 group and 1 node that cannot be read\./,
      /<h2[^>]*>Attributes<\/h2>\s*<pre[^>]*>\{\s+&quot;&lt;i&gt;title&quot;: &quot;Maps/,
      /zarr\.open_group\(&quot;http:\/\/host\/a&quot;, mode=&quot;r&quot;\)\s+print\(group\[&quot;b\/dem&quot;\]\)/,
      /group\.resolve\(&quot;b\/dem&quot;\)/,
    ]],
    ["/a/b", [/<p>A group with 1 array\.<\/p>/]],
    ["/maps", [/<p>A folder with 1 array\.<\/p>/]],
    ["/d", [/A group with 1 array and 1 node that cannot be read\./]],
    ["/d/old", [/3 × 2/, /v2/]],
  ];
  for (const [path, parts] of cases) {
    const text = await textOf(pages, path);
    for (const part of parts) assertMatch(text, part);
  }
  assertEquals((await textOf(pages, "/maps")).includes("open_group"), false);
  assertMatch(await textOf(pages, "/a/b"), /There are none\./);
});

Deno.test("a page shows a Zarr v2 array, whether the store can list or not", async () => {
  const listed = new MemoryStore([["/.zarray", encodeJson(v2Metadata())]]);
  const unlisted: Store = { get: (key) => listed.get(key) };
  for (const store of [listed, unlisted]) {
    const text = await textOf(createPages(store, "data"), "/");
    assertMatch(text, /3 × 2/);
    assertMatch(text, /uint8/);
  }
  const empty = await textOf(createPages(new MemoryStore(), "data"), "/");
  assertMatch(
    empty,
    /There are no Zarr nodes: no zarr\.json is here or below\./,
  );
  // A node of both versions is one of Zarr v3.
  const store = await exampleStore();
  await store.set("/maps/elevation/.zarray", new Uint8Array([123, 125]));
  const text = await textOf(createPages(store, "data"), "/maps/elevation");
  assertEquals(text.includes("v2"), false);
});

Deno.test("pages of a store that cannot list show its consolidated nodes, or what is missing", async () => {
  const example = await exampleStore();
  const unlisted: Store = { get: (key) => example.get(key) };
  const text = await textOf(createPages(unlisted, "data"), "/");
  assert(text.includes("has no consolidated metadata"));
  const array = createPages(unlisted, "data");
  assert(
    (await textOf(array, "/maps/elevation")).includes("cannot list its keys"),
  );
  assertEquals(await ask(array, "/maps/other"), undefined);
});

Deno.test("pages read the hierarchy of a slow store once, and again some seconds later", async () => {
  const store = await exampleStore();
  const { now } = performance;
  let [time, listings] = [0, 0];
  performance.now = () => 1000 * time;
  const listed = Promise.withResolvers<void>();
  const list = store.list.bind(store);
  store.list = async function* (prefix) {
    if (prefix === "/") listings++;
    await listed.promise;
    yield* list(prefix);
  };
  try {
    const pages = createPages(store, "data");
    const first = textOf(pages, "/");
    time = 60;
    const second = textOf(pages, "/");
    listed.resolve();
    await Promise.all([first, second]);
    for (const [seconds, count] of [[64, 1], [66, 2]] as const) {
      time = seconds;
      await textOf(pages, "/");
      assertEquals(listings, count);
    }
  } finally {
    performance.now = now;
  }
});

Deno.test("a failing store is an error of the page, which names no place, and is reported", async () => {
  const store = new HttpStore("http://host/secret", {
    fetch: () => Promise.resolve(new Response("secret", { status: 403 })),
  });
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const pages = createPages(store, "data", { onError });
  for (const path of ["/", "/secre", "/maps?chunk=1"]) {
    const response = await ask(pages, path);
    assertEquals(response?.status, 502);
    // A nonce may hold the digits of the status by chance.
    const text = (await response!.text()).replaceAll(/nonce="[^"]*"/g, "");
    assertMatch(text, /The store behind this server failed/);
    assertEquals(/secret| at .*:\d|403/.test(text), false, text);
    assertMatch(String(errors.at(-1)), /http:\/\/host\/secret.*403/);
  }
});

Deno.test("mapChunks counts the stored chunks of each cell", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 150 }), { maxLength: 3 }),
      fc.array(fc.array(fc.nat(149), { minLength: 3, maxLength: 3 }), {
        maxLength: 20,
      }),
      async (gridShape, places) => {
        const store = new MemoryStore();
        const chunks = await createArrayChunks(
          store,
          "",
          arrayMetadata({
            shape: gridShape,
            dataType: "uint8",
            chunkShape: gridShape.map(() => 1),
          }),
        );
        const stored = new Map<StoreKey, number[]>();
        for (const place of places) {
          const coordinates = gridShape.map((length, i) => place[i]! % length);
          stored.set(chunks.key(coordinates), coordinates);
          await chunks.set(coordinates, new Uint8Array(1));
        }
        const axes = choosePictureAxes(gridShape, [], "uint8");
        const map = await mapChunks(chunks, axes, {});
        const length = (i: number | undefined) =>
          i === undefined ? 1 : gridShape[i]!;
        const counts = new Uint32Array(map.rows * map.columns);
        for (const coordinates of stored.values()) {
          const row = axes.rows === undefined ? 0 : coordinates[axes.rows]!;
          const column = axes.columns === undefined
            ? 0
            : coordinates[axes.columns]!;
          counts[
            Math.floor(row / map.step[0]) * map.columns +
            Math.floor(column / map.step[1])
          ]!++;
        }
        assertEquals(map.counts, counts);
        assertEquals(map.stored, stored.size);
        assert(map.rows * map.step[0] >= length(axes.rows));
        assert(map.columns * map.step[1] >= length(axes.columns));
        assert(map.rows <= 64 && map.columns <= 64);
        const sorted = [...stored.values()].sort((a, b) => {
          const i = a.findIndex((each, i) => each !== b[i]);
          return i < 0 ? 0 : a[i]! - b[i]!;
        });
        assertEquals(map.first, sorted[0]);
        assert(counts.every((count) => count <= map.most));
      },
    ),
    { numRuns: runs(60) },
  );
});
