import { assertEquals } from "@std/assert";
import {
  decodeChunk,
  encodeChunk,
  mixedBytes,
  tiffArray,
} from "../codecs/imagecodecs_support.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

interface Case {
  readonly name: string;
  readonly data_type: string;
  readonly shape: readonly number[];
  readonly options: {
    readonly axis?: number;
    readonly dist?: number;
    readonly raw?: boolean;
    readonly level?: number;
  };
}

const SIZES: Readonly<Record<string, number>> = {
  ...{ int8: 1, uint8: 1, int16: 2, uint16: 2, int32: 4, uint32: 4 },
  ...{ int64: 8, uint64: 8, float16: 2, float32: 4, float64: 8 },
};
const SHAPES = [[1], [7], [3, 5], [4, 1], [5, 4, 3], [2, 3, 4, 2]];

const CASES: Case[] = Object.entries(SIZES).flatMap(([data_type, size]) =>
  SHAPES.flatMap((shape) => {
    const { length } = shape;
    const make = (name: string, options: Case["options"]) => ({
      ...{ name: `imagecodecs_${name}`, data_type, shape, options },
    });
    const axes = shape.map((_, i) => i - length);
    const last = axes.slice(-2);
    return [
      make("lzw", {}),
      make("packbits", {}),
      ...last.map((axis) => make("packbits", { axis })),
      ...axes.map((axis) => make("delta", { axis })),
      ...size === 1 ? [] : last.map((axis) => make("floatpred", { axis })),
      ...size > 1 && length === 3
        ? [make("floatpred", { axis: -2, dist: 2 })]
        : [],
    ];
  })
);
const LONG: Case[] = [1, 127, 128, 129, 510, 4000, 4096, 70_000].flatMap((n) =>
  ["lzw", "packbits", "zlib", "zstd", "deflate"].map((name) => ({
    name: `imagecodecs_${name}`,
    ...{ data_type: "uint8", shape: [n], options: {} },
  }))
);
const DEFLATED: Case[] = [{ raw: true }, { level: 12 }].map((options) => ({
  name: "imagecodecs_deflate",
  ...{ data_type: "int16", shape: [9, 30], options },
}));

testWith(
  PYTHON,
  "imagecodecs decodes the codecs of TIFF as zarrita encodes them, and the other way round",
  async (python) => {
    await inTempDir(async (folder) => {
      const cases = [];
      for (const [i, each] of [...CASES, ...LONG, ...DEFLATED].entries()) {
        const { name, data_type, shape, options } = each;
        const count = shape.reduce((product, n) => product * n, 1);
        const data = mixedBytes(count * SIZES[data_type]!, i);
        const codec = { name, configuration: options };
        const target = await tiffArray(data_type, shape, codec);
        const encoded = await encodeChunk(target, data);
        cases.push({ ...each, data: data.toHex(), encoded: encoded.toHex() });
      }
      const path = `${folder}/cases.json`;
      await Deno.writeTextFile(path, JSON.stringify(cases));
      await runScript(python, "with_imagecodecs.py", path);
      const theirs = JSON.parse(await Deno.readTextFile(path)) as typeof cases;
      for (const [i, their] of theirs.entries()) {
        const { name, data_type, shape, options, data, encoded } = their;
        const codec = { name, configuration: options };
        const target = await tiffArray(data_type, shape, codec);
        const decoded = await decodeChunk(target, Uint8Array.fromHex(encoded));
        assertEquals(decoded.toHex(), data, JSON.stringify(their));
        if (/delta|floatpred/.test(name)) {
          assertEquals(encoded, cases[i]!.encoded);
        }
      }
    });
  },
);
