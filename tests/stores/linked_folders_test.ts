/** Symbolic links into folders outside of the root, which `followLinksInto` names. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import { FileSystemStore, type StoreKey } from "../../mod.ts";
import { runOptions } from "../support/deno_program.ts";
import { treeOf } from "../support/tree.ts";
import { testStore } from "./conformance.ts";
import { BYTES, OTHER, SECRET, withPlaces } from "./linked_places.ts";
import { everyUse, listed, readAll } from "./store_values.ts";
import { filesIn } from "./temp_dir.ts";

testStore("FileSystemStore with followLinksInto", async () => {
  const folder = await Deno.makeTempDir();
  const options = { followLinksInto: [folder] };
  const store = new FileSystemStore(`${folder}/root`, options);
  return {
    store,
    fill: (key, bytes) => store.set(key, bytes),
    close: () => Deno.remove(folder, { recursive: true }),
  };
}, { hasWriter: true });

/** Reads a value in all ways. */
async function assertReads(
  store: FileSystemStore,
  key: StoreKey,
  bytes: Uint8Array,
): Promise<void> {
  const range = { offset: 2, length: 3 };
  assertEquals(await store.get(key), bytes, key);
  assertEquals(await store.getRange(key, range), bytes.slice(2, 5));
  assertEquals(await readAll(await store.stream(key)), bytes);
  assertEquals(await store.size(key), bytes.length);
  await store.group(key, [key]).read(async (values) => {
    assertEquals(await values.get(key), bytes);
    const version = values.version(key)!;
    assertEquals(
      await store.getRangeOf(version, key, range),
      bytes.slice(2, 5),
    );
    version.release();
  });
}

Deno.test("FileSystemStore follows all kinds of links into folders of followLinksInto", async () => {
  await withPlaces(async ({ tiffs, outside, store, link }) => {
    await link(`${tiffs}/a/b.tif`, "root/absolute");
    await link("../tiffs/a/b.tif", "root/relative");
    await link("../../tiffs/../tiffs/./a//b.tif", "root/c/roundabout");
    await link("../tiffs", "root/folder");
    await link("../tiffs/a", "root/inner");
    await link("absolute", "root/chain");
    await link("../folder/a/b.tif", "root/c/chain");
    // Only the place that a chain of links ends in matters.
    await link(`${tiffs}/a/b.tif`, "tiffs-and-more/hop");
    await link(`${outside}/hop`, "root/hop");
    await link("a/b.tif", "tiffs/within");
    await link(`${tiffs}/within`, "root/within");
    await link("../root/absolute", "tiffs/back");
    await link(`${tiffs}/back`, "root/back");
    for (
      const key of [
        "/absolute",
        "/relative",
        "/c/roundabout",
        "/folder/a/b.tif",
        "/folder/within",
        "/folder/back",
        "/inner/b.tif",
        "/chain",
        "/c/chain",
        "/hop",
        "/within",
        "/back",
      ] as const
    ) {
      for (let i = 0; i < 2; i++) await assertReads(store, key, BYTES);
    }
    for (const key of ["/folder/none", "/folder/a/none/x", "/inner/b.tif/x"]) {
      assertEquals(await store.get(key as StoreKey), undefined);
      assertEquals(await store.size(key as StoreKey), undefined);
    }
    await assertRejects(
      () => store.get("/folder/a"),
      Error,
      'Key "/folder/a" names a folder, expected a regular file: ' +
        `${tiffs}/a`,
    );
  });
});

Deno.test("FileSystemStore takes folders of followLinksInto as paths, URLs and links", async () => {
  await withPlaces(async ({ root, tiffs, outside, link }) => {
    await link(`${tiffs}/a/b.tif`, "root/k");
    await link(`${tiffs}`, "link");
    await link(`link`, "again");
    const above = `${root}/..`;
    for (
      const folder of [
        tiffs,
        `${tiffs}/`,
        `${tiffs}/a`,
        `${tiffs}/../tiffs`,
        relative(Deno.cwd(), tiffs),
        pathToFileURL(tiffs),
        `${above}/link`,
        `${above}/again/a`,
        above,
        "/",
      ]
    ) {
      const followLinksInto = [outside, `${above}/none`, folder];
      const store = new FileSystemStore(root, { followLinksInto });
      await assertReads(store, "/k", BYTES);
    }
    const refused = {
      followLinksInto: [outside, `${above}/none`, `${tiffs}/a/b`],
    };
    await assertRejects(
      () => new FileSystemStore(root, refused).get("/k"),
      Error,
      `Key "/k" leads out of the store's root: ${await Deno.realPath(
        tiffs,
      )}/a/b.tif is not below ${await Deno
        .realPath(root)} or ${outside}, ${above}/none, ${tiffs}/a/b`,
    );
  });
});

Deno.test("FileSystemStore looks folders of followLinksInto up each time", async () => {
  await withPlaces(async ({ root, tiffs, outside, link }) => {
    await link(`${tiffs}/a/b.tif`, "root/k");
    await link(`${outside}/secret`, "root/s");
    await link(tiffs, "link");
    const followed = `${root}/../link`;
    const store = new FileSystemStore(root, { followLinksInto: [followed] });
    assertEquals(await store.get("/k"), BYTES);
    await assertRejects(() => store.get("/s"), Error, "leads out");
    await Deno.remove(followed);
    await link(outside, "link");
    await assertRejects(() => store.get("/k"), Error, "leads out");
    assertEquals(await store.get("/s"), SECRET);
  });
});

Deno.test("FileSystemStore rejects links that lead out of its root and of followLinksInto", async () => {
  await withPlaces(async ({ root, tiffs, outside, store, link }) => {
    await link(`${outside}/secret`, "root/secret");
    await link(outside, "root/outside");
    await link(`${outside}/secret`, "tiffs/secret");
    await link(`${tiffs}/secret`, "root/through");
    await link("..", "tiffs/up");
    await link(tiffs, "root/folder");
    await link("..", "root/up");
    const before = await treeOf(`${root}/..`);
    for (
      const key of [
        "/secret",
        "/outside/secret",
        "/outside/none",
        "/through",
        "/folder/secret",
        "/folder/up/tiffs-and-more/secret",
        "/folder/up/none",
        "/up/tiffs-and-more/secret",
        "/up/tiffs-and-more/none",
      ] as const
    ) {
      for (const use of everyUse(store, key)) {
        await assertRejects(use, Error, "leads out of the store's root");
      }
      const group = store.group(key, [key]);
      for (
        const use of [
          () => group.read((values) => values.get(key)),
          () => group.write!(),
          () => group.delete!(),
        ]
      ) await assertRejects(use, Error, "leads out of the store's root");
    }
    assertEquals(await listed(store), ["/folder/a/b.tif"]);
    assertEquals(await treeOf(`${root}/..`), before);
    // The way back into a folder that may be read is no secret.
    assertEquals(await store.get("/up/tiffs/a/b.tif"), BYTES);
  });
});

Deno.test("FileSystemStore takes dangling links for absent values, and refuses circles of links", async () => {
  await withPlaces(async ({ tiffs, store, link }) => {
    await link(`${tiffs}/none`, "root/dangling");
    await link("dangling", "root/further");
    await link("one", "root/two");
    await link("two", "root/one");
    for (const key of ["/dangling", "/further"] as const) {
      assertEquals(await store.get(key), undefined);
      assertEquals(await store.size(key), undefined);
    }
    for (const use of everyUse(store, "/one")) {
      await assertRejects(use, Deno.errors.FilesystemLoop);
    }
    assertEquals(await listed(store), []);
    await store.set("/dangling", OTHER);
    assertEquals(await store.get("/dangling"), OTHER);
    assertEquals(await filesIn(tiffs), ["a"]);
  });
});

Deno.test("FileSystemStore reads linked files with permission for the folders as they are named", async () => {
  await withPlaces(async ({ root, tiffs, outside, link }) => {
    await link(`${tiffs}/a/b.tif`, "root/k");
    await link(tiffs, "link");
    const named = `${root}/../link`;
    const program = `
      import { FileSystemStore } from ${
      JSON.stringify(import.meta.resolve("../../mod.ts"))
    };
      const [root, folder] = Deno.args;
      const store = new FileSystemStore(root, { followLinksInto: [folder] });
      const group = store.group("/k", ["/k"]);
      console.log(JSON.stringify([
        (await store.get("/k"))?.length,
        await group.read((values) => values.size("/k")),
        await Array.fromAsync(store.list()),
      ]));`;
    const run = async (folder: string, allowed: readonly string[]) => {
      const output = await new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "--no-prompt",
          ...runOptions(),
          `--allow-read=${allowed.join(",")}`,
          "-",
          root,
          folder,
        ],
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const writer = output.stdin.getWriter();
      await writer.write(new TextEncoder().encode(program));
      await writer.close();
      const { stdout, stderr } = await output.output();
      return new TextDecoder().decode(stdout) ||
        new TextDecoder().decode(stderr);
    };
    const expected = `${JSON.stringify([9, 9, ["/k"]])}\n`;
    assertEquals(await run(tiffs, [root, tiffs]), expected);
    assertEquals(await run(named, [root, named]), expected);
    assert((await run(tiffs, [root])).includes("Requires read access"));
    assert((await run(outside, [root, outside])).includes("leads out of"));
  });
});

Deno.test("FileSystemStore refuses followLinksInto that is no list of folders", () => {
  const cases: [unknown, ErrorConstructor, string][] = [
    [
      "/data",
      TypeError,
      'Expected the option "followLinksInto" to be a list of folders, as paths or file: URLs, found "/data"',
    ],
    [
      null,
      TypeError,
      'Expected the option "followLinksInto" to be a list of folders, as paths or file: URLs, found null',
    ],
    [
      [""],
      RangeError,
      'Expected "followLinksInto" to have paths of folders, found ""',
    ],
    [[1], TypeError, "Expected the path or file: URL of a folder, found 1"],
    [["https://example.com"], TypeError, 'found "https://example.com"'],
  ];
  for (const [followLinksInto, type, message] of cases) {
    assertThrows(
      () =>
        new FileSystemStore("data", {
          followLinksInto: followLinksInto as string[],
        }),
      type,
      message,
    );
  }
});
