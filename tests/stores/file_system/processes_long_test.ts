/** Programs that read and write the same chunk. */
import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { FileSystemStore } from "../../../mod.ts";
import { registerCodecs, withZarrParts } from "../../../zarrita.ts";
import { concatParts } from "../../support/metadata.ts";
import { sharding } from "../../zarrita/sharded_array.ts";
import { inTempDir } from "../temp_dir.ts";
import type { Findings } from "./chunk_program.ts";
import { createParts, disks, start, temporaryFiles } from "./processes.ts";

Deno.test("readers in other processes never read a mixture", async () => {
  for (const root of await disks()) {
    try {
      await createParts(root);
      const writers = [
        await start(root, { task: "write" }),
        await start(root, { task: "write", first: 5 }),
      ];
      try {
        const count = 10_000;
        const readers = await Promise.all(
          [0, 1].map(() => start(root, { task: "read", count })),
        );
        for (const reader of readers) {
          const output = await reader.output();
          console.log(output.trim());
          const findings: Findings = JSON.parse(output);
          assertEquals(findings.mixtures, 0);
          assert(findings.generations > 20, "The writers have hardly written");
          assert(findings.unfinished <= findings.reads / 100);
        }
      } finally {
        for (const writer of writers) await writer.kill();
      }
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  }
});

const COUNT = 240;
const INDEX_PART = (chunks: number) =>
  concatParts({ key_suffix: "" }, {
    key_suffix: ".index",
    size: 16 * chunks + 4,
  });

/** Arrays of one chunk, which all programs change. */
const WAYS: Record<string, Record<string, unknown>> = {
  "inner chunks in a shard of one file": {
    codecs: [sharding({ inner: [1] })],
    storage_transformers: [],
  },
  "inner chunks in a shard of two files": {
    codecs: [sharding({ inner: [1] })],
    storage_transformers: [INDEX_PART(COUNT)],
  },
  "elements of one inner chunk in a shard of one file": {
    codecs: [sharding({ inner: [COUNT] })],
    storage_transformers: [],
  },
  "elements of one inner chunk in a shard of two files": {
    codecs: [sharding({ inner: [COUNT] })],
    storage_transformers: [INDEX_PART(1)],
  },
  "elements of a chunk of one file": {
    codecs: ["bytes"],
    storage_transformers: [],
  },
  "elements of a chunk of two files": {
    codecs: ["bytes", "crc32c"],
    storage_transformers: [
      concatParts({ key_suffix: "" }, { key_suffix: ".crc32c", size: 4 }),
    ],
  },
};

for (const [what, metadata] of Object.entries(WAYS)) {
  Deno.test(`no update is lost beside other processes: ${what}`, () =>
    inTempDir(async (folder) => {
      registerCodecs(zarr.registry);
      await createParts(folder, {
        shape: [COUNT],
        chunk_grid: {
          name: "regular",
          configuration: { chunk_shape: [COUNT] },
        },
        ...metadata,
      });
      const open = () =>
        zarr.open(withZarrParts(new FileSystemStore(folder)), {
          kind: "array",
        });
      const isEachAlone = what.startsWith("inner chunks");
      for (let round = 0; round < 4; round++) {
        await zarr.set(await open(), null, 0);
        const programs = await Promise.all(
          [0, 1, 2, 3, 4, 5, 6, 7].map((first) =>
            start(folder, {
              task: "update",
              count: COUNT,
              first,
              step: 8,
              isEachAlone,
            })
          ),
        );
        for (const program of programs) await program.output();
        const { data } = await zarr.get(await open());
        assertEquals(
          Array.from(data as Uint8Array),
          Array.from({ length: COUNT }, (_, i) => 1 + i % 200),
        );
        assertEquals(await temporaryFiles(folder), []);
      }
    }));
}
