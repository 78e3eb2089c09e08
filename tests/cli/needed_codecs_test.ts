import { assertEquals } from "@std/assert";
import {
  arrayMetadata,
  createArrayChunks,
  FileSystemStore,
} from "../../mod.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { runCli } from "./run_cli.ts";

const REMEDY =
  "; zarr-parts convert --plain --codecs zstd makes a copy without these codecs\n";
const ZLIB =
  "numcodecs.zlib (zarr-python 3 has it, TensorStore and GDAL do not)";
const imagecodecs = (names: string, versions: string) =>
  `${names} (zarr-python: pip install "imagecodecs${versions}"; from imagecodecs.zarr import register_codecs; register_codecs())`;

const BYTES = { name: "bytes", configuration: { endian: "little" } };

/** What the commands say about arrays, by their codecs. */
const CASES: readonly (readonly [
  metadata: Partial<Parameters<typeof arrayMetadata>[0]>,
  note: string,
])[] = [
  [{ codecs: [BYTES, { name: "zstd" }, { name: "crc32c" }] }, ""],
  [{ shardShape: [4], codecs: ["zstd"] }, ""],
  [
    { shardShape: [4], codecs: [BYTES, { name: "numcodecs.zlib" }] },
    `Readers need ${ZLIB}${REMEDY}`,
  ],
  [
    {
      codecs: [{ name: "imagecodecs_delta" }, BYTES, {
        name: "imagecodecs_lzw",
      }],
    },
    `Readers need ${
      imagecodecs("imagecodecs_delta and imagecodecs_lzw", ">=2026.5.10")
    }${REMEDY}`,
  ],
  [
    {
      dataType: "float32",
      codecs: [{ name: "imagecodecs_floatpred" }, BYTES, {
        name: "numcodecs.zlib",
      }],
    },
    `Readers need ${
      imagecodecs("imagecodecs_floatpred", ">=2026.5.10,<=2026.6.26")
    } and ${ZLIB}${REMEDY}`,
  ],
  [
    { codecs: [BYTES, { name: "zarr-parts.bitorder" }] },
    `Readers need zarr-parts.bitorder (zarrita: registerCodecs of zarr-parts)${REMEDY}`,
  ],
];

Deno.test("convert --plain and references say which codecs not every reader has, and how readers get them", () =>
  inTempDir(async (folder) => {
    for (const [i, [options, note]] of CASES.entries()) {
      const source = `${folder}/${i}`;
      const metadata = arrayMetadata({
        shape: [4],
        dataType: "int16",
        chunkShape: [2],
        ...options,
      });
      await createArrayChunks(new FileSystemStore(source), "", metadata);
      const commands = [
        ["convert", source, `${source}.plain`, "--plain"],
        ["references", source, "-o", `${source}.json`],
      ];
      for (const command of commands) {
        const { code, err } = await runCli(...command);
        assertEquals([code, err], [0, note], command.join(" "));
      }
      const quiet = ["--plain", "--overwrite", "--quiet"];
      const again = await runCli(
        "convert",
        source,
        `${source}.plain`,
        ...quiet,
      );
      assertEquals(again, { code: 0, out: "", err: "" });
    }
  }));
