/**
 * Programs that read and write the same chunk. `ZARR_PARTS_LONG_TESTS=1` makes them read
 * and write more.
 */
import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { FileSystemStore } from "../../../mod.ts";
import { registerCodecs, withZarrParts } from "../../../src/zarrita/mod.ts";
import { inTempDir } from "../temp_dir.ts";
import { concatParts } from "../../support/metadata.ts";
import { sharding } from "../../zarrita/sharded_array.ts";
import type { Findings } from "./chunk_program.ts";
import {
  createParts,
  disks,
  isLong,
  start,
  temporaryFiles,
} from "./processes.ts";

Deno.test("readers in other processes never read a mixture", async () => {
  for (const root of await disks()) {
    try {
      await createParts(root);
      const writers = [
        await start(root, { task: "write" }),
        await start(root, { task: "write", first: 5 }),
      ];
      try {
        const count = isLong ? 50_000 : 2_500;
        const readers = await Promise.all(
          [0, 1].map(() => start(root, { task: "read", count })),
        );
        for (const reader of readers) {
          const output = await reader.output();
          console.log(output.trim());
          const findings: Findings = JSON.parse(output);
          assertEquals(findings.mixtures, 0);
          assert(findings.generations > 20, "The writers have hardly written");
          assert(findings.unfinished <= count / 100);
        }
      } finally {
        for (const writer of writers) await writer.kill();
      }
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  }
});

const WAYS = {
  "of one file": [],
  "of two files": [
    concatParts({ key_suffix: "" }, {
      key_suffix: ".index",
      size: 64 * 16 + 4,
    }),
  ],
};

for (const [way, storage_transformers] of Object.entries(WAYS)) {
  Deno.test(`no update of an inner chunk is lost beside other processes, in shards ${way}`, () =>
    inTempDir(async (folder) => {
      const count = 64;
      registerCodecs(zarr.registry);
      await createParts(folder, {
        shape: [count],
        chunk_grid: {
          name: "regular",
          configuration: { chunk_shape: [count] },
        },
        codecs: [sharding({ inner: [1] })],
        storage_transformers,
      });
      const open = () =>
        zarr.open(withZarrParts(new FileSystemStore(folder)), {
          kind: "array",
        });
      for (let round = 0; round < (isLong ? 20 : 1); round++) {
        await zarr.set(await open(), null, 0);
        const programs = await Promise.all(
          [0, 1, 2].map((first) =>
            start(folder, { task: "update", count, first, step: 3 })
          ),
        );
        for (const program of programs) await program.output();
        const { data } = await zarr.get(await open());
        assertEquals(
          Array.from(data as Uint8Array),
          Array.from({ length: count }, (_, i) => 1 + i % 200),
        );
        assertEquals(await temporaryFiles(folder), []);
      }
    }));
}
