/** TIFFs whose names follow no rule, adopted where they are. */
import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  FileSystemStore,
  mapKeys,
  openArrayChunks,
  type Store,
} from "../../mod.ts";
import { adoptTiffs } from "../../tiff.ts";
import { withZarrParts } from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { treeOf } from "../support/tree.ts";
import { storeTiffs } from "../tiff/store_tiffs.ts";
import { caseOf } from "../tiff/tiff_cases.ts";

type WritableStore = Store & Required<Pick<Store, "set">>;

const NAMES = ["S2A_T32TMT_B04.tif", "S2A_T32TMT_B08.tif", "other/B8A.tif"];

/** Ways to give the files of a folder the keys of the chunks of the array `bands`. */
const WAYS: Record<string, (folder: string) => Promise<WritableStore>> = {
  "mapKeys": (folder) =>
    Promise.resolve(
      mapKeys(
        new FileSystemStore(folder),
        Object.fromEntries(
          NAMES.map((name, i) => [`c/${i}/0/0.tif`, `../downloads/${name}`]),
        ),
        { path: "bands" },
      ),
    ),
  "symbolic links": async (folder) => {
    for (const [i, name] of NAMES.entries()) {
      const place = `${folder}/store/bands/c/${i}/0`;
      await Deno.mkdir(place, { recursive: true });
      await Deno.symlink(
        `../../../../../downloads/${name}`,
        `${place}/0.tif`,
      );
    }
    return new FileSystemStore(`${folder}/store`, { followLinks: true });
  },
};

for (const [way, open] of Object.entries(WAYS)) {
  Deno.test(`adoptTiffs stacks files of any names by ${way}`, async () => {
    await inTempDir(async (folder) => {
      const downloads = `${folder}/downloads`;
      await Deno.mkdir(`${downloads}/other`, { recursive: true });
      const made = new FileSystemStore(`${folder}/made`);
      const tiffCase = caseOf({
        dataType: "uint8",
        shape: [40, 192],
        shardShape: [64, 64],
        chunkShape: [16, 16],
      });
      const { chunks: written, shards } = await storeTiffs(made, "", tiffCase);
      assertEquals(shards.length, NAMES.length);
      for (const [i, { shard }] of shards.entries()) {
        const path = `${folder}/made${written.key(shard)}`;
        await Deno.rename(path, `${downloads}/${NAMES[i]}`);
      }
      const expected = shards.flatMap(({ elements }) => [...elements]);
      const before = await treeOf(downloads);
      const store = await open(folder);
      const { report } = await adoptTiffs(store, "bands", { stack: true });
      assertEquals(report.files, 3);

      const root = zarr.root(withZarrParts(store)).resolve("bands");
      const array = await zarr.open(root, { kind: "array" });
      assertEquals(array.shape, [3, 40, 64]);
      assertEquals(
        Array.from((await zarr.get(array)).data as Uint8Array),
        expected,
      );
      const chunks = await openArrayChunks(store, "bands");
      assertEquals((await Array.fromAsync(chunks.list())).length, 3);
      const [first] = await Array.fromAsync(chunks.list());
      const shard = (await chunks.get(first!))!;
      const refusal = "besides its inner chunks, as a file of another format";
      await assertRejects(
        () => zarr.set(array, [2, zarr.slice(1), zarr.slice(1)], 7),
        Error,
        refusal,
      );
      await assertRejects(
        () => chunks.set(first!, shard),
        Error,
        refusal,
      );
      assertEquals(await treeOf(downloads), before);
      if (way !== "symbolic links") return;
      // A link is replaced by a file, also if its file may be lost.
      await chunks.set(first!, shard.slice(1), { otherBytes: "replace" });
      assertEquals(await treeOf(downloads), before);
    });
  });
}
