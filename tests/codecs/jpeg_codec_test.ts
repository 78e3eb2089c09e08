import { assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import { DamageError, MemoryStore, MetadataError } from "../../mod.ts";
import { decodeJpeg } from "../../src/codecs/jpeg/decode_jpeg.ts";
import { withZarrParts } from "../../zarrita.ts";
import { fixture } from "./jpeg_fixtures.ts";
import "./zarrita_codecs.ts";

const NAME = "imagecodecs_jpeg";
const { jpeg } = fixture("33x17x3 -sample 2x1");
const SHAPE = [17, 33, 3];
const RGB = decodeJpeg(jpeg);

interface Given {
  shape?: readonly number[];
  dtype?: string;
  configuration?: unknown;
  before?: readonly unknown[];
  chunk?: Uint8Array;
}

async function read(given: Given): Promise<Uint8Array> {
  return (await readRegion(given)).data;
}

/** Reads an array of one chunk through zarrita. */
async function readRegion(
  {
    shape = SHAPE,
    dtype = "uint8",
    configuration = {},
    before = [],
    chunk = jpeg,
  }: Given,
): Promise<{ data: Uint8Array; stride: number[] }> {
  const store = new Map([[`/c/${shape.map(() => 0).join("/")}`, chunk]]);
  const array = await zarr.create(store, {
    shape: [...shape],
    chunkShape: [...shape],
    dtype: dtype as "uint8",
    fillValue: 0,
    codecs: [...before, { name: NAME, configuration }] as never,
  });
  return await zarr.get(array) as { data: Uint8Array; stride: number[] };
}

Deno.test("zarrita reads a JPEG chunk, by the default, by names and by numbers of colors", async () => {
  const raw = decodeJpeg(jpeg, { storedColors: "rgb" });
  const luma = raw.filter((_, i) => i % 3 === 0);
  const cases: [unknown, Uint8Array][] = [
    [{}, RGB],
    [{ colorspace_jpeg: null, colorspace_data: null, level: 95 }, RGB],
    [{ colorspace_jpeg: "YCbCr", colorspace_data: "RGB" }, RGB],
    [{ colorspace_jpeg: 3, colorspace_data: 2 }, RGB],
    [{ colorspace_jpeg: "UNKNOWN", colorspace_data: "rgb" }, RGB],
    [{ colorspace_jpeg: "RGB" }, raw],
    [{ colorspace_jpeg: "YCBCR" }, raw],
    [{ colorspace_data: "GRAYSCALE" }, luma],
  ];
  for (const [configuration, expected] of cases) {
    const shape = expected === luma ? [17, 33] : SHAPE;
    assertEquals(await read({ configuration, shape }), expected);
  }
});

Deno.test("zarrita reads a JPEG chunk with dimensions of one element, and after transpose", async () => {
  assertEquals(await read({ shape: [1, 17, 33, 3] }), RGB);
  assertEquals(await read({ shape: [17, 1, 33, 3] }), RGB);
  const transpose = { name: "transpose", configuration: { order: [1, 2, 0] } };
  // Bands first in the array, and last in the picture.
  const rows = { shape: [3, 17, 33], before: [transpose] };
  const { data, stride } = await readRegion(rows);
  const [bands, y, x] = stride;
  for (let i = 0; i < RGB.length; i++) {
    const pixel = Math.floor(i / 3);
    const place = i % 3 * bands! + Math.floor(pixel / 33) * y! +
      pixel % 33 * x!;
    assertEquals(data[place], RGB[i]);
  }
});

Deno.test("zarrita reads a JPEG chunk with its tables and its header in the configuration", async () => {
  const scan = jpeg.findIndex((byte, i) =>
    byte === 0xff && jpeg[i + 1] === 0xda
  );
  const length = jpeg[scan + 2]! * 256 + jpeg[scan + 3]!;
  const data = scan + 2 + length;
  const header = jpeg.slice(0, data).toBase64();
  const chunk = jpeg.slice(data, -2);
  assertEquals(await read({ configuration: { header }, chunk }), RGB);
  // The segment APP0 is the first one; tables follow up to the frame.
  const frame = jpeg.findIndex((byte, i) =>
    byte === 0xff && jpeg[i + 1] === 0xc0
  );
  const soi = [0xff, 0xd8];
  const tables = new Uint8Array([
    ...soi,
    ...jpeg.subarray(20, frame),
    0xff,
    0xd9,
  ]);
  const picture = new Uint8Array([...soi, ...jpeg.subarray(frame)]);
  assertEquals(
    await read({
      configuration: { tables: tables.toBase64() },
      chunk: picture,
    }),
    RGB,
  );
  await assertDamage({ chunk: picture }, "which is missing");
});

async function assertDamage(given: Given, message: string): Promise<void> {
  const { cause } = await assertRejects(
    () => read(given),
    zarr.CodecPipelineError,
  );
  assertInstanceOf(cause, DamageError);
  assertEquals(cause.message.includes(message), true, cause.message);
}

Deno.test("zarrita fits a JPEG chunk into rows and columns", async () => {
  const expected = RGB.subarray(0, 16 * 33 * 3);
  assertEquals(await read({ shape: [16, 33, 3] }), expected);
  const found = await read({ shape: [18, 35, 3] });
  for (let y = 0; y < 18; y++) {
    const row = RGB.subarray(y * 99, (y + 1) * 99);
    const padded = Uint8Array.from({ length: 105 }, (_, i) => row[i] ?? 0);
    assertEquals(found.subarray(y * 105, (y + 1) * 105), padded);
  }
});

Deno.test("zarrita refuses a JPEG chunk without data, or of another width or samples, as damage", async () => {
  await assertDamage(
    { chunk: jpeg.slice(0, 100) },
    `The chunk is not decoded by ${NAME}: `,
  );
  await assertDamage({ chunk: new Uint8Array() }, "starts with the bytes");
  for (const shape of [[17, 33], [33, 17, 3], [17, 33, 4], [17, 32, 3]]) {
    await assertDamage(
      { shape },
      `Expected a picture for a chunk of the shape [${shape}], found the height 17, the width 33 and 3 samples`
        .replaceAll(",", ", ").replaceAll(",  ", ", "),
    );
  }
});

Deno.test("zarrita names the key of a damaged JPEG chunk in a store of withZarrParts", async () => {
  const store = new MemoryStore();
  const wrapped = withZarrParts(store);
  const array = await zarr.create(wrapped as never, {
    shape: [17, 33, 3],
    chunkShape: [17, 33, 3],
    dtype: "uint8",
    fillValue: 0,
    codecs: [{ name: NAME, configuration: {} }] as never,
  });
  await store.set("/c/0/0/0", jpeg);
  assertEquals((await zarr.get(array)).data, RGB);
  await store.set("/c/0/0/0", jpeg.slice(0, 100));
  const error = await assertRejects(() => zarr.get(array)) as Error;
  const damage = error.cause ?? error;
  assertInstanceOf(damage, DamageError);
  assertEquals(damage.key, "/c/0/0/0");
});

Deno.test("zarrita refuses to write with imagecodecs_jpeg, with the reason", async () => {
  const array = await zarr.create(new Map(), {
    shape: [4, 4],
    chunkShape: [4, 4],
    dtype: "uint8",
    fillValue: 0,
    codecs: [{ name: NAME, configuration: {} }] as never,
  });
  const error = await assertRejects(() => zarr.set(array, null, 1)) as Error;
  const { message } = (error.cause ?? error) as Error;
  assertEquals(
    message,
    "imagecodecs_jpeg does not encode, since JPEG changes elements that are not written: store the array with another codec",
  );
});

const REFUSED: [Given, string][] = [
  [{ configuration: { quality: 5 } }, 'Unknown member "quality"'],
  [{ configuration: { tables: 5 } }, "tables of imagecodecs_jpeg to be bytes"],
  [{ configuration: { tables: "ä" } }, "to be bytes in Base64"],
  [{ configuration: { header: "===" } }, "header of imagecodecs_jpeg"],
  [{ configuration: { colorspace_jpeg: "HSV" } }, 'found "HSV"'],
  [{ configuration: { colorspace_data: 9 } }, "found 9"],
  [{ configuration: { colorspace_jpeg: "toString" } }, 'found "toString"'],
  [
    { configuration: { colorspace_jpeg: "RGB", colorspace_data: "YCbCr" } },
    'to be a color space that "RGB" is decoded to, found "YCbCr"',
  ],
  [{ dtype: "uint16" }, 'the data type "uint8"'],
  [{ shape: [2, 17, 33, 3] }, "in the shape [2, 17, 33, 3]"],
];
for (const [given, message] of REFUSED) {
  const { chunk: _, ...shown } = given;
  Deno.test(`imagecodecs_jpeg refuses ${JSON.stringify(shown)}`, async () => {
    await assertRejects(() => read(given), MetadataError, message);
  });
}
