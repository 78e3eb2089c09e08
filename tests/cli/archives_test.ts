import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FileSystemStore, MemoryStore, type StoreKey } from "../../mod.ts";
import { archiveOf, makeArchive } from "../zip/archives.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { utf8 } from "../support/documents.ts";
import { runCli } from "./run_cli.ts";

const DEM = new URL("../fixtures/dem.zarr", import.meta.url).pathname;

/** The values of the fixture, under another folder. */
async function demValues(
  folder = "",
): Promise<(readonly [StoreKey, Uint8Array])[]> {
  const store = new FileSystemStore(DEM);
  const values: (readonly [StoreKey, Uint8Array])[] = [];
  for await (const key of store.list()) {
    values.push([`/${folder}${key.slice(1)}`, (await store.get(key))!]);
  }
  return values;
}

async function listFiles(folder: string): Promise<string[]> {
  const files: string[] = [];
  for await (const key of new FileSystemStore(folder).list()) files.push(key);
  return files.sort();
}

Deno.test("inspect, verify and convert read archives as the folders that were packed", async () => {
  await inTempDir(async (folder) => {
    const places: [file: string, inside: string, node: string][] = [
      ["dem.zarr.zip", "", ""],
      ["dem.ozx", "dem.zarr/", ""],
      ["DEM.ZIP", "a/dem/", "/a/dem"],
      ["no extension", "", ""],
    ];
    const plain = await runCli("inspect", DEM, "--json");
    for (const [i, [file, inside, node]] of places.entries()) {
      const path = `${folder}/${file}`;
      await Deno.writeFile(path, archiveOf(await demValues(inside)));
      const inspected = await runCli("inspect", path + node, "--json");
      const { archive, ...inspection } = JSON.parse(inspected.out);
      assertEquals(inspection, JSON.parse(plain.out));
      assertEquals([archive.entries, archive.deflated], [13, 6]);
      const { out } = await runCli("inspect", path + node);
      assertStringIncludes(out, "zip archive of 13 entries, ");
      assertStringIncludes(out, ", 6 deflated\n");
      assertEquals(
        inspected.err,
        file === "dem.ozx"
          ? `${path}: reading "dem.zarr" in the archive\n`
          : "",
      );
      const verified = await runCli("verify", "--deep", path + node);
      assertStringIncludes(verified.out, "note archive-deflated: Archive ");
      assertStringIncludes(verified.out, "12 chunks verified, ");
      assertEquals(verified.code, 0);
      const target = `${folder}/copy ${i}`;
      const converted = await runCli("convert", path + node, target, "-q");
      assertEquals(converted.code, 0, converted.err);
      assertEquals(await listFiles(target), await listFiles(DEM));
      const again = new FileSystemStore(target);
      for (const [key, bytes] of await demValues()) {
        assertEquals(await again.get(key), bytes);
      }
    }
  });
});

Deno.test("commands that read answer mistakes about archives", async () => {
  await inTempDir(async (folder) => {
    const content = utf8("{}");
    const files: [name: string, bytes: Uint8Array][] = [
      ["text.zip", utf8("text")],
      ["file.tif", utf8("II*\0")],
      [
        "two.zip",
        makeArchive(
          ["a/zarr.json", "b/zarr.json"].map((name) => ({ name, content })),
        ),
      ],
      ["empty.zip", makeArchive([])],
    ];
    for (const [name, bytes] of files) {
      await Deno.writeFile(`${folder}/${name}`, bytes);
    }
    const mistakes: [place: string, message: string, code?: number][] = [
      ["text.zip", 'File "/text.zip" does not end with the last record', 1],
      ["file.tif", 'Expected a folder, found a file: "DIR/file.tif"'],
      [
        "two.zip",
        'Archive "DIR/two.zip" holds 2 nodes: add the path of one, such as DIR/two.zip/a',
      ],
      [
        "empty.zip",
        'No Zarr node at DIR/empty.zip: there is no "/zarr.json"',
        1,
      ],
      ["empty.zip/a/b", "No Zarr node at DIR/empty.zip/a/b: there is no", 1],
      ["none.zip", 'There is no file "DIR/none.zip"', 1],
      ["none.zip/0", "There is no file", 1],
      ["two.zip/zarr.json", "did you mean DIR/two.zip?"],
      ["none", "There is no folder", 1],
    ];
    for (const [place, message, code = 2] of mistakes) {
      for (const command of ["inspect", "verify", "serve"]) {
        // A server waits for what is not there yet.
        const isOther = /^(?:empty.zip|file.tif|none$)/.test(place);
        if (command === "serve" && isOther) continue;
        const { err, code: found } = await runCli(
          command,
          `${folder}/${place}`,
        );
        const expected = message.replaceAll("DIR", folder);
        assert(err.includes(expected), `${command} ${place}: ${err}`);
        assertEquals(found, code, `${command} ${place}: ${err}`);
      }
    }
  });
});

Deno.test("nothing is written into archives", async () => {
  await inTempDir(async (folder) => {
    await Deno.writeFile(`${folder}/dem.zip`, archiveOf(await demValues()));
    const before = await Deno.readFile(`${folder}/dem.zip`);
    const commands = [
      ["convert", DEM, `${folder}/dem.zip`],
      ["convert", DEM, `${folder}/new.zarr.zip`],
      ["convert", DEM, `${folder}/new.ozx/0`],
      ["convert", DEM, "s3://bucket/new.ozx"],
      ["convert", "--in-place", `${folder}/dem.zip`, "--suffix", ".a"],
      ["repair", `${folder}/dem.zip`],
    ];
    for (const command of commands) {
      const { code, err } = await runCli(...command);
      assertStringIncludes(
        err,
        "since zip archives are only read: name a folder",
      );
      assertEquals(code, 2);
    }
    assertEquals(await Deno.readFile(`${folder}/dem.zip`), before);
    assertEquals(await listFiles(folder), ["/dem.zip"]);
    // A folder may have such a name.
    await Deno.mkdir(`${folder}/folder.zip`);
    assertEquals(
      (await runCli("convert", DEM, `${folder}/folder.zip`)).code,
      0,
    );
    assertEquals((await runCli("verify", `${folder}/folder.zip`)).code, 0);
  });
});

Deno.test("adopt tells archives from zip files that are shards", async () => {
  await inTempDir(async (folder) => {
    await Deno.writeFile(`${folder}/dem.ozx`, archiveOf(await demValues()));
    const ozx = await runCli("adopt", `${folder}/dem.ozx`, "--into", folder);
    assertEquals(ozx.code, 2);
    assertStringIncludes(
      ozx.err,
      `File "${folder}/dem.ozx" is an archive of OME-Zarr: inspect, verify, convert and serve read it as it is`,
    );
    await Deno.rename(`${folder}/dem.ozx`, `${folder}/dem.zip`);
    const into = `${folder}/new`;
    const zip = await runCli(
      "adopt",
      `${folder}/dem.zip`,
      "--into",
      into,
      "--link",
    );
    assertEquals(zip.code, 2);
    assertStringIncludes(zip.err, "compressed by deflate");
    assertStringIncludes(zip.err, "read an archive of whole arrays as it is");
    assertEquals(await listFiles(folder), ["/dem.zip"]);
  });
});

Deno.test("archives are read over HTTP by their URLs, with a query and a path inside", async () => {
  const archive = archiveOf(await demValues("dem.zarr/"));
  const handler = storeHandler(
    new MemoryStore([["/data/my dem.zarr.zip", archive]]),
  );
  const urls: string[] = [];
  const server = serve((request) => {
    const { pathname, search } = new URL(request.url);
    urls.push(pathname + search);
    return handler(request);
  });
  try {
    for (const inside of ["", "/", "/dem.zarr"]) {
      const { out, err, code } = await runCli(
        "verify",
        `${server.url}/data/my%20dem.zarr.zip${inside}?token=1`,
      );
      assertEquals(code, 0, err);
      assertStringIncludes(out, "12 chunks verified, 1 found");
    }
    assertEquals(new Set(urls), new Set(["/data/my%20dem.zarr.zip?token=1"]));
    const { err, code } = await runCli("inspect", `${server.url}/none.ozx`);
    assertStringIncludes(err, "There is no archive");
    assertEquals(code, 1);
  } finally {
    await server.close();
  }
});

Deno.test("folders of servers may have the names of archives", async () => {
  const server = serve(storeHandler(
    new MemoryStore(await demValues("x.zip/dem.zarr/")),
  ));
  try {
    const { code, err } = await runCli(
      "inspect",
      `${server.url}/x.zip/dem.zarr`,
    );
    assertEquals(code, 0, err);
  } finally {
    await server.close();
  }
});
