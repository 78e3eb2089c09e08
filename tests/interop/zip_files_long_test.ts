/** Shards that are zip files, read by other programs. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import {
  arrayMetadata,
  type ArrayMetadataOptions,
  createArrayChunks,
  encodeShard,
  FileSystemStore,
  parseShardLayout,
  shardIndexSize,
} from "../../mod.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { zipContainer, type ZipOptions } from "../../zip.ts";
import { parseSlowZip } from "../zip/slow_zip.ts";
import { slowCoordinates } from "../shards/slow_shard.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { utf8 } from "../support/documents.ts";
import { testWith } from "../support/tools.ts";
import { runScript } from "./python.ts";
import { ZIP_TOOLS } from "./zip_tools.ts";

registerCodecs(zarr);

/** A zip or an array, and what programs should find in it. */
interface Expected {
  readonly name: string;
  readonly path: string;
  readonly readers: readonly string[];
  /** The names of the entries, and their bytes in Base64. */
  readonly entries?: readonly (readonly [string, string])[];
  readonly count?: number;
  readonly comment?: string;
  /** The path of the elements in little endian. */
  readonly elements?: string;
  readonly shape?: readonly number[];
  readonly dtype?: string;
}

const READERS = ["unzip", "zip", "zipfile"];

async function assertRead(
  python: string,
  folder: string,
  expected: readonly Expected[],
): Promise<void> {
  const list = `${folder}/expected.json`;
  await Deno.writeTextFile(list, JSON.stringify(expected));
  await runScript(python, "read_zips.py", list);
}

interface ZipCase {
  readonly name: string;
  readonly array?: Partial<ArrayMetadataOptions>;
  readonly options?: ZipOptions;
  /** Whether a reader of zip files opens a shard as an array of its own. */
  readonly isAlone?: boolean;
  /** Whether zarr-python opens the whole array. */
  readonly isPlain?: boolean;
}

const SIDECAR = { suffix: ".zip", parts: ["", ".index"] };

const CASES: readonly ZipCase[] = [
  { name: "the index as comment", isPlain: true },
  { name: "the index beside", array: SIDECAR },
  ...(["first", "last"] as const).flatMap((zarrJson) =>
    [{}, SIDECAR].flatMap((array) =>
      [["zstd"], ["gzip"], []].map((codecs): ZipCase => ({
        name: `zarr.json ${zarrJson}, ${Object.keys(array)}, ${codecs}`,
        array: { ...array, codecs },
        options: { zarrJson },
        isAlone: true,
        isPlain: array !== SIDECAR,
      }))
    )
  ),
  {
    name: "keys of v2",
    array: { ...SIDECAR, fillValue: 77 },
    options: { zarrJson: "first", names: "v2" },
    isAlone: true,
  },
  {
    name: "names in UTF-8, a time",
    options: {
      names: ([y, x]) => `Höhe/Zeile ${y}/Späte ${x}.bin`,
      modified: new Date("2024-02-29T12:34:56Z"),
    },
    isPlain: true,
  },
];

testWith(
  ZIP_TOOLS,
  "Info-ZIP, zipfile and zarr-python's ZipStore read every shard of zipContainer as zarrita does",
  (python) =>
    inTempDir(async (folder) => {
      const store = new FileSystemStore(folder);
      const expected: Expected[] = [];
      for (const [i, zipCase] of CASES.entries()) {
        const { name, array = {}, options = {}, isAlone, isPlain } = zipCase;
        const path = `${i}`;
        const metadata = arrayMetadata({
          shape: [50, 70],
          dataType: "int16",
          shardShape: [32, 48],
          chunkShape: [8, 16],
          ...array,
        });
        const chunks = await createArrayChunks(store, path, metadata);
        const root = zarr.root(withZarrParts(store)).resolve(path);
        const opened = await zarr.open(root, { kind: "array" });
        const container = zipContainer(metadata, options);
        // The inner chunks of the last rows stay absent.
        const data = Int16Array.from({ length: 2800 }, (_, i) => i * i % 9973);
        const selection = [zarr.slice(0, 40), zarr.slice(0, 70)];
        const value = { data, shape: [40, 70], stride: [70, 1] };
        await setSharded(zarr, opened, selection, value, { container });
        const whole = (await zarr.get(opened, null)).data as typeof data;
        assertEquals(whole.subarray(0, 2800), data);
        if (isPlain) {
          const elements = `${folder}/${path}.raw`;
          await Deno.writeFile(elements, new Uint8Array(whole.buffer));
          expected.push({
            name,
            path: `${folder}/${path}`,
            readers: ["zarr-python"],
            elements,
            shape: [50, 70],
            dtype: "<i2",
          });
        }
        for (const shard of slowCoordinates([2, 2])) {
          const file = folder + chunks.key(shard);
          const { entries, comment } = parseSlowZip(await Deno.readFile(file));
          const start = [shard[0]! * 32, shard[1]! * 48] as const;
          const end = [
            Math.min(50, start[0] + 32),
            Math.min(70, start[1] + 48),
          ] as const;
          const part = await zarr.get(opened, [
            zarr.slice(start[0], end[0]),
            zarr.slice(start[1], end[1]),
          ]);
          const elements = `${folder}/${path}-${shard.join("-")}.raw`;
          const { buffer } = part.data as Int16Array<ArrayBuffer>;
          await Deno.writeFile(elements, new Uint8Array(buffer));
          expected.push({
            name: `${name}, shard ${shard}`,
            path: file,
            readers: [...READERS, ...isAlone ? ["ZipStore"] : []],
            entries: entries.map(({ name, bytes }) => [name, bytes.toBase64()]),
            comment: comment.toBase64(),
            elements,
            shape: part.shape,
            dtype: "<i2",
          });
        }
      }
      assert(expected.length > 60, `${expected.length} files were written`);
      await assertRead(python, folder, expected);
    }),
);

testWith(
  ZIP_TOOLS,
  "Info-ZIP and zipfile read shards of zipContainer with 65,535 and 65,536 entries without bytes",
  (python) =>
    inTempDir(async (folder) => {
      const expected: Expected[] = [];
      for (const count of [65_535, 65_536]) {
        const { container, layout } = containerOf(count);
        const chunks = Array.from({ length: count }, () => new Uint8Array());
        const shard = encodeShard(chunks, layout, { container });
        const path = `${folder}/${count}.zip`;
        await Deno.writeFile(path, shard.subarray(0, -shardIndexSize(layout)));
        expected.push({
          name: `${count} entries`,
          path,
          readers: READERS,
          count,
        });
      }
      await assertRead(python, folder, expected);
    }),
);

testWith(
  ZIP_TOOLS,
  "Info-ZIP and zipfile read shards of zipContainer that are longer than 4 GiB",
  (python) =>
    inTempDir(async (folder) => {
      const { container } = containerOf(2);
      const chunks = [utf8("first"), utf8("second")];
      const headers = chunks.map((chunk, i) => container.before!(i, chunk));
      const expected: Expected[] = [];
      for (
        const [second, end] of [
          [2 ** 32 - 2, 2 ** 32 + 99],
          [2 ** 32 - 1, 2 ** 32 + 99],
          [2 ** 32, 2 ** 32 + 99],
          [1000, 2 ** 32 - 2],
          [1000, 2 ** 32 - 1],
          [5 * 2 ** 30, 6 * 2 ** 30],
        ] as const
      ) {
        const path = `${folder}/${second}-${end}.zip`;
        const offsets = [0, second];
        const index = chunks.map(({ length }, i) => ({
          offset: offsets[i]! + headers[i]!.length,
          length,
        }));
        using file = await Deno.create(path); // It has holes, and takes little space.
        const writeAt = async (offset: number, bytes: Uint8Array) => {
          await file.seek(offset, Deno.SeekMode.Start);
          assertEquals(await file.write(bytes), bytes.length);
        };
        for (const i of [0, 1]) {
          await writeAt(offsets[i]!, headers[i]!);
          await writeAt(index[i]!.offset, chunks[i]!);
        }
        await writeAt(end, container.tail!(index, end));
        expected.push({
          name: `offset ${second}, directory at ${end}`,
          path,
          readers: ["unzip", "zipfile"],
          entries: chunks.map((chunk, i) => [`c/${i}`, chunk.toBase64()]),
          comment: "",
        });
      }
      await assertRead(python, folder, expected);
    }),
);

testWith(
  ZIP_TOOLS,
  "Info-ZIP and zipfile read shards of zipContainer with inner chunks of any names and lengths",
  (python) =>
    inTempDir(async (folder) => {
      const chunk = fc.record({
        name: fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
        bytes: fc.option(fc.uint8Array({ maxLength: 3000 }), { freq: 4 }),
      });
      const chunks = fc.uniqueArray(chunk, {
        selector: ({ name }) => name,
        minLength: 1,
        maxLength: 20,
      });
      const shards = fc.sample(chunks, { numRuns: 60, seed: 11 });
      const expected: Expected[] = [];
      for (const [i, entries] of shards.entries()) {
        const { container, layout } = containerOf(entries.length, {
          // A letter before each makes a name of any text.
          names: ([n]) =>
            `x${entries[n!]!.name.replaceAll(/[\\/\p{C}]/gu, "_")}${n}`,
        });
        const shard = encodeShard(
          entries.map(({ bytes }) => bytes ?? undefined),
          layout,
          { container },
        );
        const zip = shard.subarray(0, -shardIndexSize(layout));
        const path = `${folder}/${i}.zip`;
        await Deno.writeFile(path, zip);
        const found = parseSlowZip(zip).entries;
        assertEquals(
          found.map(({ bytes }) => bytes),
          entries.flatMap(({ bytes }) => bytes ? [bytes] : []),
        );
        expected.push({
          name: `shard ${i}`,
          path,
          // Info-ZIP takes a zip without entries for an error.
          readers: found.length > 0 ? READERS : ["zipfile"],
          entries: found.map(({ name, bytes }) => [name, bytes.toBase64()]),
          comment: "",
        });
      }
      await assertRead(python, folder, expected);
    }),
);

/** The container and the layout of a shard of some inner chunks, with its index beside it. */
function containerOf(count: number, options?: ZipOptions) {
  const metadata = arrayMetadata({
    shape: [count],
    dataType: "uint8",
    shardShape: [count],
    chunkShape: [1],
    ...SIDECAR,
  });
  return {
    container: zipContainer(metadata, options)([0]),
    layout: parseShardLayout(metadata.codecs[0], [count]),
  };
}
