import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  FileSystemStore,
  HttpStore,
  MemoryStore,
  recover,
  type RecoverOptions,
} from "../../mod.ts";
import { assertStore } from "../../src/stores/describe_store.ts";
import { inTempDir } from "./temp_dir.ts";

/** A call with arguments of any type, and its whole error. */
type Mistake = [act: () => unknown, error: string];

function assertMistakes(mistakes: readonly Mistake[]) {
  for (const [act, expected] of mistakes) {
    const error = assertThrows(act) as Error;
    assertEquals(`${error.name}: ${error.message}`, expected);
  }
}

const fileSystemStore = (root: unknown) => () =>
  new FileSystemStore(root as string);
const httpStore = (url: unknown) => () => new HttpStore(url as string);

Deno.test("FileSystemStore advises a store or a URL for an invalid root", () => {
  const expected =
    "Expected the path of a folder or a file: URL of this machine";
  const any = "Expected the path or file: URL of a folder";
  assertMistakes([
    [
      fileSystemStore("https://user:secret@example.org/x.zarr?token=secret"),
      `TypeError: ${expected}, found "https://example.org/x.zarr?…": use new HttpStore("https://example.org/x.zarr?…")`,
    ],
    [
      fileSystemStore(new URL("HTTP://example.org/x.zarr")),
      `TypeError: ${expected}, found "http://example.org/x.zarr": use new HttpStore("http://example.org/x.zarr")`,
    ],
    [
      fileSystemStore("file:///data/x.zarr"),
      `TypeError: ${expected}, found "file:///data/x.zarr": use new FileSystemStore(new URL("file:///data/x.zarr"))`,
    ],
    [
      fileSystemStore("s3://bucket/x.zarr"),
      `TypeError: ${expected}, found "s3://bucket/x.zarr"`,
    ],
    [
      fileSystemStore(new URL("file://server/share")),
      `TypeError: ${expected}, found "file://server/share"`,
    ],
    [fileSystemStore(undefined), `TypeError: ${any}, found undefined`],
    [
      fileSystemStore(new MemoryStore()),
      `TypeError: ${any}, found MemoryStore(0)`,
    ],
    [
      fileSystemStore(""),
      'RangeError: Expected the path of a folder, found ""',
    ],
  ]);
});

Deno.test("every method of FileSystemStore rejects a file as its root", async () => {
  await inTempDir(async (folder) => {
    const root = `${folder}/x.zarr`;
    await Deno.writeTextFile(root, "a zip file");
    const store = new FileSystemStore(root);
    const value = new Uint8Array(1);
    for (
      const use of [
        () => store.get("/k"),
        () => store.getRange("/a/k", { offset: 0, length: 1 }),
        () => store.stream("/k"),
        () => store.size("/k"),
        () => store.set("/k", value),
        () => store.writer("/k"),
        () => store.delete("/k"),
        () => Array.fromAsync(store.list()),
        () => Array.fromAsync(store.list("/a/b")),
      ]
    ) {
      const { message } = await assertRejects(use, Error);
      assertEquals(
        message,
        `Expected the store's root to be a folder, found a file: ${root}`,
      );
    }
    assertEquals(await Deno.readTextFile(root), "a zip file");
  });
});

Deno.test("HttpStore names the accepted URLs for an invalid URL", () => {
  const expected =
    'TypeError: Expected an http: or https: URL with a host, such as "https://example.org/data.zarr"';
  assertMistakes([
    [httpStore("data/x.zarr"), `${expected}, found "data/x.zarr"`],
    [httpStore("/x.zarr?token=secret"), `${expected}, found "/x.zarr?…"`],
    [httpStore(undefined), `${expected}, found "undefined"`],
    [
      httpStore("file:///data/x.zarr"),
      "RangeError: Expected an http: or https: URL without password (use a header), found file://",
    ],
    [
      httpStore("https://user:secret@example.org"),
      "RangeError: Expected an http: or https: URL without password (use a header), found https://example.org",
    ],
  ]);
});

Deno.test("errors of HttpStore show no query string", async () => {
  const store = (response: () => Promise<Response>) =>
    new HttpStore("https://example.org/x?token=secret", {
      fetch: response,
      retryDelay: 0,
    });
  const failures: [store: HttpStore, error: string][] = [
    [
      store(() => Promise.resolve(new Response(null, { status: 500 }))),
      "Cannot GET https://example.org/x/k?…: expected status 200, 206, 416, 404, 410, found 500, after 5 tries",
    ],
    [
      store(() => Promise.reject(new Error("offline"))),
      "Cannot GET https://example.org/x/k?…: the connection failed",
    ],
    [
      store(() => Promise.resolve(new Response("x", { status: 206 }))),
      "Expected https://example.org/x/k?… to answer the range bytes=0-0, found status 206 with content-range null and content-encoding null",
    ],
  ];
  for (const [store, expected] of failures) {
    const { message } = await assertRejects(
      () => store.getRange("/k", { offset: 0, length: 1 }),
      Error,
    );
    assertEquals(message, expected);
  }
});

Deno.test("assertStore advises which store to construct", () => {
  const expected = 'TypeError: Expected a store, an object with a "get" method';
  const mistake = (store: unknown, rest: string): Mistake => [
    () => assertStore(store),
    `${expected}, found ${rest}`,
  ];
  assertMistakes([
    mistake(
      "data/x.zarr",
      '"data/x.zarr": use new FileSystemStore("data/x.zarr")',
    ),
    mistake(
      "https://example.org/x.zarr?token=secret",
      '"https://example.org/x.zarr?…": use new HttpStore("https://example.org/x.zarr?…")',
    ),
    mistake(
      new URL("https://example.org/x.zarr"),
      '"https://example.org/x.zarr": use new HttpStore("https://example.org/x.zarr")',
    ),
    mistake(
      new URL("file:///data/x.zarr"),
      '"file:///data/x.zarr": use new FileSystemStore(new URL("file:///data/x.zarr"))',
    ),
    mistake(MemoryStore, "the class MemoryStore: use new MemoryStore(…)"),
    mistake(() => new MemoryStore(), "a function"),
    mistake(new Uint16Array(1000), "Uint16Array of 2000 bytes"),
    mistake([1, 2], "a list of 2 members"),
    mistake(undefined, "undefined"),
    mistake(null, "null"),
    mistake({ set() {} }, "a store object"),
    mistake(Promise.resolve(new MemoryStore()), "Promise: await it"),
  ]);
  for (const store of [new MemoryStore(), new Map(), { get() {} }]) {
    assertStore(store);
  }
});

Deno.test("recover refuses options that it does not have, and changes nothing", async () => {
  await inTempDir(async (folder) => {
    const temporary = `${folder}/.zarr-parts-tmp-1`;
    await Deno.writeFile(temporary, new Uint8Array(9));
    const store = new FileSystemStore(folder);
    const options = { dryrun: true } as RecoverOptions;
    await assertRejects(
      () => recover(store, options),
      TypeError,
      'Unknown option "dryrun" of recover',
    );
    assertEquals((await Deno.stat(temporary)).size, 9);
  });
});
