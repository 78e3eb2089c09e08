/** Archives that other programs packed, read as zarr-python reads them. */
import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  FileSystemStore,
  HttpStore,
  type Store,
  type StoreKey,
  v2View,
} from "../../mod.ts";
import { S3Store } from "../../s3.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { ZipStore } from "../../zip.ts";
import { runCli, runCliIn } from "../cli/run_cli.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { SimulatedBucket } from "../stores/s3/simulated_bucket.ts";
import { BUCKET_PROGRAMS } from "../stores/s3/servers.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { withoutVersions } from "../support/without_versions.ts";
import { runScript } from "./python.ts";
import { ZIP_TOOLS } from "./zip_tools.ts";

registerCodecs(zarr);

const ARRAYS = ["plain", "sharded", "raw", "empty", "nested/deep"];

/** Makes archives, and returns their names. */
async function makeArchives(
  python: string,
  folder: string,
): Promise<string[]> {
  await runScript(python, "make_archives.py", folder);
  const names = JSON.parse(await Deno.readTextFile(`${folder}/archives.json`));
  assert(names.length >= 14, names.join());
  return names;
}

/** The bytes of the elements of an array in native order, which is little endian. */
async function elementsOf(store: Store, path: string): Promise<Uint8Array> {
  const root = zarr.root(withZarrParts(v2View(store))).resolve(path);
  const { data } = await zarr.get(await zarr.open(root, { kind: "array" }));
  const { buffer, byteOffset, byteLength } = data as Uint8Array;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

async function assertElements(
  folder: string,
  store: Store,
  what: string,
): Promise<void> {
  for (const path of ARRAYS) {
    const expected = await Deno.readFile(
      `${folder}/${path.replaceAll("/", "_")}.bin`,
    );
    assertEquals(await elementsOf(store, path), expected, `${what}: ${path}`);
  }
}

testWith(
  ZIP_TOOLS,
  "archives of zarr-python, zipfile, Info-ZIP, 7-Zip, libarchive and jar are read with the same bits as by zarr-python, in any store",
  (python) =>
    inTempDir(async (folder) => {
      const names = await makeArchives(python, folder);
      const files = new FileSystemStore(folder);
      const server = serve(storeHandler(files));
      const withoutRanges = serve(async ({ url }) =>
        new Response(
          await files.get(new URL(url).pathname as StoreKey) as Uint8Array<
            ArrayBuffer
          >,
        )
      );
      const bucket = new SimulatedBucket();
      const objects = new S3Store("s3://bucket/archives", {
        endpoint: "https://example.org",
        fetch: async (request) => bucket.answer(request, await request.bytes()),
      });
      try {
        for (const name of names) {
          const key: StoreKey = `/${name}`;
          await objects.set(key, (await files.get(key))!);
          const stores: Store[] = [
            files,
            withoutVersions(files),
            new HttpStore(server.url),
            new HttpStore(withoutRanges.url),
            objects,
          ];
          for (const store of stores) {
            await assertElements(folder, new ZipStore(store, key), name);
          }
        }
      } finally {
        await server.close();
        await withoutRanges.close();
      }
    }),
);

testWith(
  ZIP_TOOLS,
  "the command line verifies, inspects and converts archives of other programs",
  (python) =>
    inTempDir(async (folder) => {
      for (const name of await makeArchives(python, folder)) {
        const place = `${folder}/${name}`;
        const verified = await runCli("verify", "--deep", "--json", place);
        assertEquals(verified.code, 0, `${name}: ${verified.err}`);
        const { findings, chunks } = JSON.parse(verified.out);
        assertEquals(chunks, name.includes("v2") ? 47 : 21, name);
        const rules = findings.map(({ rule }: { rule: string }) => rule);
        const expected =
          /deflated|methods|jar|bsdtar|7zip.zip|^info_zip(?!_stored|_comment)/
              .test(name)
            ? ["archive-deflated"]
            : name.startsWith("replaced")
            ? ["archive-leftovers"]
            : [];
        assertEquals(rules, expected, name);
        const { out } = await runCli("inspect", "--json", place);
        const { archive, nodes } = JSON.parse(out);
        assertEquals(nodes.length, 7, name);
        assertEquals(
          archive.omeVersion,
          name.endsWith(".ozx") ? "0.5" : undefined,
        );
        const target = `${folder}/converted/${name.replaceAll(".", "_")}`;
        const converted = await runCli("convert", place, target, "--plain");
        assertEquals(converted.code, 0, `${name}: ${converted.err}`);
        await assertElements(folder, new FileSystemStore(target), name);
      }
    }),
);

for (const program of BUCKET_PROGRAMS) {
  testWith(
    "missing" in program.tool ? program.tool : ZIP_TOOLS,
    `archives in buckets of ${program.name} are read by ranges`,
    (python) =>
      inTempDir(async (folder) => {
        const names = await makeArchives(python, folder);
        const files = new FileSystemStore(folder);
        const { options, close } = await program.start();
        try {
          const bucket = new S3Store("s3://bucket", options);
          for (const name of names) {
            const key: StoreKey = `/${name}`;
            await bucket.set(key, (await files.get(key))!);
            await assertElements(folder, new ZipStore(bucket, key), name);
          }
          const { accessKeyId, secretAccessKey } = options
            .credentials as { accessKeyId: string; secretAccessKey: string };
          const env = {
            AWS_ACCESS_KEY_ID: accessKeyId,
            AWS_SECRET_ACCESS_KEY: secretAccessKey,
            AWS_ENDPOINT_URL: options.endpoint,
          };
          const place = "s3://bucket/image.ozx/nested";
          const { code, err, out } = await runCliIn(env, "verify", place);
          assertEquals(code, 0, err);
          assert(out.includes("3 chunks verified"), out);
        } finally {
          await close();
        }
      }),
  );
}
