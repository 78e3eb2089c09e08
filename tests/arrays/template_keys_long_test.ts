import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  arrayMetadata,
  createArrayChunks,
  MemoryStore,
  MetadataError,
  openArrayChunks,
} from "../../mod.ts";
import { encodeJson } from "../support/documents.ts";

function template(format: string, separator?: string) {
  return { name: "template", configuration: { format, separator } };
}

function metadata(
  keyEncoding: { name: string; configuration?: Record<string, unknown> },
  shape: readonly number[] = [6, 4],
  parts?: readonly string[],
) {
  return arrayMetadata({
    shape,
    dataType: "uint8",
    chunkShape: shape.map(() => 2),
    keyEncoding,
    parts,
  });
}

Deno.test("arrays are refused whose dimensions or chunks a template does not cover", async () => {
  for (
    const [keys, shape, problem] of [
      [template("{0}"), [], "is for rank 1 to 256, found 0"],
      [template("{*}", "/"), [], "is for rank 1 to 256, found 0"],
      [
        template("{0}"),
        [6, 4],
        "has no placeholder for dimension 1, where the only coordinate is 0 then, found 1",
      ],
      [
        template("{1}"),
        [6, 4],
        "has no placeholder for dimension 0, where the only coordinate is 0 then, found 2",
      ],
      [template("{1}_{2}"), [6, 4], "holds {2}, which is out of range"],
      [template("{0}_{1}_{2}"), [6, 4], "is for rank 3 to 256, found 2"],
      [template("{0*-1+1}_{1}"), [6, 4], "found 2, which has -1"],
      [template("{0}_{-2}_{*}", "/"), [6, 4], "is for rank 3 to 256"],
      [
        template("{0}_{-3}_{*}", "/"),
        [6, 4, 2],
        "which are the same dimension for rank 3",
      ],
      [template("{0:01}{1:01}"), [20, 22], "to fit into {1:01}, which stands"],
    ] as const
  ) {
    for (
      const keyEncoding of [keys, {
        name: "suffix",
        configuration: { suffix: ".x", base_encoding: keys },
      }]
    ) {
      const error = assertThrows(
        () => metadata(keyEncoding, shape),
        MetadataError,
        problem,
      );
      assertEquals(error.path, "/chunk_key_encoding");
    }
  }
  metadata(template("{0:01}{1:01}"), [20, 20]);
  metadata(template("{0:01}{1:01}"), [0, 20]);
  metadata(template("{0}"), [6, 2]);
  metadata(template("{1}"), [2, 6]);
  metadata(template("{0*-1+2}_{1}"), [6, 4]);
  const zarr = {
    name: "suffix",
    configuration: { suffix: ".json", base_encoding: template("{0}/{1}/zarr") },
  };
  assertThrows(
    () => metadata(zarr),
    MetadataError,
    'Chunk key "2/1/zarr.json" is that of a metadata document',
  );
  const store = new MemoryStore();
  const document = {
    ...metadata(template("{0}_{1}")),
    shape: [6],
    chunk_grid: { name: "regular", configuration: { chunk_shape: [2] } },
  };
  await store.set("/zarr.json", encodeJson(document));
  await assertRejects(
    () => openArrayChunks(store, ""),
    MetadataError,
    "found 1",
  );
});

Deno.test("createArrayChunks refuses templates with keys that Windows cannot hold, which are still read", async () => {
  for (
    const [keys, problem] of [
      [template("a:{0}_{1}"), 'holds ":"'],
      [template("{*}", ":"), 'holds ":"'],
      [template("{0}/{1}."), "ends in a dot"],
      [template("{0} /{1}"), "ends in a space"],
      [template("{0}/com{1}"), 'holds the name "com0"'],
      [template("{0}/{1}/NUL.tif"), 'holds the name "NUL"'],
      [template("{0}/{1}/Zarr.JSON"), "where case does not matter"],
    ] as const
  ) {
    const document = metadata(keys);
    const store = new MemoryStore();
    const error = await assertRejects(
      () => createArrayChunks(store, "", document),
      MetadataError,
      problem,
    );
    assertEquals(error.path, "/chunk_key_encoding");
    await store.set("/zarr.json", encodeJson(document));
    const chunks = await openArrayChunks(store, "");
    await chunks.set([2, 1], new Uint8Array(4).fill(1));
    assertEquals(await chunks.get([2, 1]), new Uint8Array(4).fill(1));
  }
  await createArrayChunks(
    new MemoryStore(),
    "",
    metadata(template("{0}/com{1:02}")),
  );
});
