import {
  assertEquals,
  assertInstanceOf,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { DamageError, MetadataError } from "../../mod.ts";
import { noteKey } from "../../src/codecs/codec.ts";
import { elementKind, type Elements } from "./element_kinds.ts";
import {
  type Configuration,
  oracleEncode,
  oracleKept,
} from "./packbits_oracle.ts";
import { chunkOf, packbits, PADDINGS } from "./packbits_support.ts";

/** Worked out by hand from the document. */
const BY_HAND: [string, Configuration, (number | bigint)[], number[]][] = [
  ["uint8", { last_bit: 3 }, [1, 2, 3], [0x21, 0x03]],
  ["uint8", { last_bit: 3, padding_encoding: "first_byte" }, [1, 2, 3], [
    4,
    0x21,
    0x03,
  ]],
  ["uint8", { last_bit: 3, padding_encoding: "last_byte" }, [1, 2], [0x21, 0]],
  ["uint8", { last_bit: 3, padding_encoding: "last_byte" }, [1, 2, 3], [
    0x21,
    0x03,
    4,
  ]],
  ["int8", { last_bit: 1 }, [-2, -1, 0, 1], [0b01_00_11_10]],
  ["int16", { first_bit: 4, last_bit: 11 }, [0x120, -0x120], [0x12, 0xee]],
  ["int64", { first_bit: 62 }, [-(2n ** 62n), -(2n ** 63n)], [0b10_11]],
  ["uint16", {}, [0x1234, 0xabcd], [0x34, 0x12, 0xcd, 0xab]],
  ["uint16", { padding_encoding: "first_byte" }, [0x1234], [0, 0x34, 0x12]],
  ["uint32", { first_bit: null, last_bit: null }, [1], [1, 0, 0, 0]],
  ["uint32", { last_bit: 19 }, [0xfedcb, 0x12345], [
    0xcb,
    0xed,
    0x5f,
    0x34,
    0x12,
  ]],
];

for (const [dataType, configuration, values, bytes] of BY_HAND) {
  Deno.test(`packbits packs [${values}] as ${dataType} ${JSON.stringify(configuration)} into the bytes worked out by hand`, () => {
    const kind = elementKind(dataType);
    const shape = [values.length];
    const codec = packbits(dataType, shape, configuration);
    const data = kind.of(
      values.map((value) => BigInt.asUintN(kind.bits, BigInt(value))),
    );
    const decoded = codec.decode(Uint8Array.from(bytes));
    assertEquals(Array.from(codec.encode(chunkOf(data, shape))), bytes);
    assertEquals(decoded.data, data);
  });
}

Deno.test("packbits packs bool from the lowest bit on", () => {
  const bits = [1n, 0n, 0n, 1n, 0n, 0n, 1n, 0n, 0n, 1n];
  const codec = packbits("bool", [2, 5], { padding_encoding: "first_byte" });
  const chunk = chunkOf(elementKind("bool").of(bits), [2, 5]);
  assertEquals(Array.from(codec.encode(chunk)), [6, 0b0100_1001, 0b10]);
});

const REFUSED: readonly [configuration: unknown, path: string][] = [
  [{ padding_encoding: "start_byte" }, "/configuration/padding_encoding"],
  [{ padding_encoding: null }, "/configuration/padding_encoding"],
  [{ first_bit: -1 }, "/configuration/first_bit"],
  [{ first_bit: 1.5 }, "/configuration/first_bit"],
  [{ first_bit: "1" }, "/configuration/first_bit"],
  [{ first_bit: 16 }, "/configuration/first_bit"],
  [{ last_bit: -1 }, "/configuration/last_bit"],
  [{ last_bit: 1e300 }, "/configuration/last_bit"],
  [{ first_bit: 3, last_bit: 16 }, "/configuration/last_bit"],
  [{ first_bit: 3, last_bit: 2 }, "/configuration/last_bit"],
  [{ start_bit: 0 }, "/configuration/start_bit"],
  [null, "/configuration"],
  [[], "/configuration"],
  ["none", "/configuration"],
];

Deno.test("packbits rejects other configurations", () => {
  for (const [configuration, path] of REFUSED) {
    const error = assertThrows(
      () => packbits("int16", [1], configuration),
      MetadataError,
    );
    assertEquals(error.path, path);
  }
});

Deno.test("packbits accepts the first and last bit of each data type, and none beyond", () => {
  for (
    const [dataType, last] of Object.entries({ bool: 0, uint8: 7, float64: 63 })
  ) {
    packbits(dataType, [1], { first_bit: last, last_bit: last });
    for (const place of ["first_bit", "last_bit"]) {
      const error = assertThrows(
        () => packbits(dataType, [1], { [place]: last + 1 }),
        MetadataError,
        `from 0 to ${last}, found ${last + 1}`,
      );
      assertEquals(error.path, `/configuration/${place}`);
    }
  }
});

Deno.test("packbits needs no configuration", () => {
  const chunk = chunkOf(new Uint8Array([5, 6]), [2]);
  assertEquals(packbits("uint8", [2]).encode(chunk), new Uint8Array([5, 6]));
});

Deno.test("packbits rejects data types that are neither numbers nor bool", () => {
  for (
    const dataType of [
      "string",
      "v2:object",
      "v2:U4",
      "v2:S3",
      "int4",
      "toString",
    ]
  ) {
    const error = assertThrows(
      () => packbits(dataType, [1]),
      MetadataError,
    );
    assertEquals(error.path, "");
  }
});

/** Three elements of three bits: 9 bits, 2 bytes, 7 bits of padding. */
const SHAPE = [3];
const ELEMENTS = new Uint8Array([1, 2, 7]);
const thrice = (padding_encoding: string) =>
  packbits("uint8", SHAPE, { padding_encoding, last_bit: 2 });

for (const padding of PADDINGS) {
  const codec = thrice(padding);
  const encoded = codec.encode(chunkOf(ELEMENTS, SHAPE));
  const size = padding === "none" ? 2 : 3;

  Deno.test(`packbits rejects bytes of any other length, with padding_encoding ${padding}`, () => {
    assertEquals(encoded.length, size);
    for (const length of [0, 1, size - 1, size + 1, size + 100]) {
      const other = new Uint8Array(length);
      other.set(encoded.subarray(0, length));
      assertThrows(
        () => codec.decode(other),
        DamageError,
        `The chunk is ${length} bytes long, where 3 elements of 3 bits take ${size} in packbits`,
      );
      noteKey(other, "/a/c/0");
      assertThrows(
        () => codec.decode(other),
        DamageError,
        `The chunk at "/a/c/0" is ${length} bytes long`,
      );
    }
  });

  Deno.test(`packbits rejects each padding bit that is not 0, with padding_encoding ${padding}`, () => {
    const last = padding === "first_byte" ? 2 : 1;
    for (let bit = 0; bit < 8; bit++) {
      const changed = encoded.slice();
      changed[last]! ^= 1 << bit;
      noteKey(changed, "/a/c/1");
      if (bit === 0) {
        // It is the highest bit of the last element.
        assertEquals(codec.decode(changed).data, new Uint8Array([1, 2, 3]));
        continue;
      }
      const { message } = assertThrows(
        () => codec.decode(changed),
        DamageError,
      );
      assertStringIncludes(
        message,
        'The chunk at "/a/c/1" has the padding bits',
      );
      assertStringIncludes(
        message,
        `0b${(1 << (bit - 1)).toString(2).padStart(7, "0")},`,
      );
    }
  });

  if (padding === "none") continue;
  Deno.test(`packbits rejects each wrong number of padding bits, in the ${padding}`, () => {
    for (let number = 0; number < 256; number++) {
      const changed = encoded.slice();
      changed[padding === "first_byte" ? 0 : 2] = number;
      noteKey(changed, "/a/c/2");
      if (number === 7) {
        assertEquals(codec.decode(changed).data, ELEMENTS);
        continue;
      }
      assertThrows(
        () => codec.decode(changed),
        DamageError,
        `The chunk at "/a/c/2" has ${number} as the number of padding bits in its ${padding}, where 3 elements leave 7`,
      );
    }
  });
}

const CHUNK = chunkOf(new Uint16Array(6), [2, 3]);
const MISFITS: readonly Partial<typeof CHUNK>[] = [
  { data: new Uint16Array(5) },
  { stride: [4, 1] },
  { shape: [2, 2] },
  { stride: [0, 1] },
  { stride: [3, -1] },
  { stride: [3] },
];

Deno.test("packbits rejects to encode chunks that do not fit", () => {
  const codec = packbits("uint16", [2, 3]);
  assertInstanceOf(codec.encode(CHUNK), Uint8Array);
  for (const misfit of MISFITS) {
    assertThrows(() => codec.encode({ ...CHUNK, ...misfit }), RangeError);
  }
});

Deno.test("packbits rejects to encode elements of another length", () => {
  const codec = packbits("uint16", [3]);
  for (const data of [new Uint8Array(6), new Float64Array(3)]) {
    assertThrows(
      () => codec.encode(chunkOf(data, [3])),
      TypeError,
      `Expected elements of 2 bytes in the chunk, found ${data.BYTES_PER_ELEMENT}`,
    );
  }
});

interface Vector {
  dataType: string;
  configuration: Configuration;
  elements: string;
  encoded: string;
  decoded: string;
}

/**
 * Random elements, 3 × 5, as zarrs 0.2.3 for Python encoded and decoded them.
 * Left out is where it is not as the document says: it stores no padding byte
 * beside whole elements, and extends a sign to the end of the byte only.
 */
const VECTORS: readonly Vector[] = [
  {
    dataType: "bool",
    configuration: { padding_encoding: "last_byte" },
    elements: "010101000100010000010000010001",
    encoded: "575201",
    decoded: "010101000100010000010000010001",
  },
  {
    dataType: "int8",
    configuration: {
      padding_encoding: "first_byte",
      first_bit: 2,
      last_bit: 6,
    },
    elements: "83bc45fee9ee0403a79be118544441",
    encoded: "05e0c5af7700c960532304",
    decoded: "003cc4fce8ec04002418e018d4c4c0",
  },
  {
    dataType: "int16",
    configuration: { padding_encoding: "none", first_bit: 0, last_bit: 8 },
    elements: "12dbe8f5331dd9917f01e64710dd3c25f4d21690a049453135550ec0193a",
    encoded: "12d1cfccfed73c449ef42c802e5ad34106",
    decoded: "12ffe8ff33ffd9ff7fffe6ff10ff3cfff4001600a0ff45ff35ff0e001900",
  },
  {
    dataType: "uint8",
    configuration: {
      padding_encoding: "first_byte",
      first_bit: 5,
      last_bit: 7,
    },
    elements: "9a8abba2748e833393bb8cbd49e7ad",
    encoded: "03643b322cab17",
    decoded: "8080a0a06080802080a080a040e0a0",
  },
  {
    dataType: "uint16",
    configuration: {
      padding_encoding: "last_byte",
      first_bit: 4,
      last_bit: 14,
    },
    elements: "15881df46c635d92060e5494c2b321868a4ca9a59d253cc85057d952bc4c",
    encoded: "8108ba8d4b028ea2f04c0cc8d452960659d7962e1303",
    decoded: "1008107460635012000e5014c0332006804ca025902530485057d052b04c",
  },
  {
    dataType: "uint32",
    configuration: { padding_encoding: "none", first_bit: 0, last_bit: 16 },
    elements:
      "b20ab879d7b00bda55b3b721bc2cf557271e00f94e5d4c32efe91db2efb41236d6e1fc20c979d3284d96dfe7a6e0fcfaff60641aed3f53b5fe83b817",
    encoded: "b20aae6157cde66579e2c1a9cb7bfa775ad6e192f336593605f70fa6fda7ff20",
    decoded:
      "b20a0000d7b0010055b30100bc2c0100271e00004e5d0000efe90100efb40000d6e10000c97901004d960100a6e00000ff600000ed3f0100fe830000",
  },
  {
    dataType: "float16",
    configuration: { padding_encoding: "none", first_bit: 13, last_bit: 15 },
    elements: "bc09ff6f6384cb8535c5ef9c93094b9d86343f69094952fd624e447daa95",
    encoded: "18698299ae11",
    decoded: "000000600080008000c000800000008000200060004000e0004000600080",
  },
  {
    dataType: "float32",
    configuration: {
      padding_encoding: "last_byte",
      first_bit: 3,
      last_bit: 31,
    },
    elements:
      "56731dc6d7776e3024121b9482ed0c171fe6e521e5e87876c175dfb29d97093c1b73a22b7beaf0cc1b767499380937d136896d164ae5fdf1f893b3ce",
    encoded:
      "6aaec358dfb9c110890d4ad8ce7031cccb43383a9e1daefb969d97093c634e74e5a9c3330f3bbacc9370136d12db2c52797ffc9f9c750605",
    decoded:
      "50731dc6d0776e3020121b9480ed0c1718e6e521e0e87876c075dfb29897093c1873a22b78eaf0cc18767499380937d130896d1648e5fdf1f893b3ce",
  },
];

for (const vector of VECTORS) {
  const { dataType, configuration } = vector;
  const kind = elementKind(dataType);
  const name = `${dataType} ${JSON.stringify(configuration)}`;
  Deno.test(`packbits encodes and decodes like zarrs: ${name}`, () => {
    const Class = kind.of([]).constructor as new (
      buffer: ArrayBufferLike,
    ) => Elements;
    const data = new Class(Uint8Array.fromHex(vector.elements).buffer);
    const codec = packbits(dataType, [3, 5], configuration);
    const encoded = codec.encode(chunkOf(data, [3, 5]));
    assertEquals(encoded.toHex(), vector.encoded);
    const decoded = codec.decode(encoded).data;
    assertEquals(new Uint8Array(decoded.buffer).toHex(), vector.decoded);
    const patterns = kind.patternsOf(data);
    assertEquals(
      Uint8Array.from(oracleEncode(patterns, kind, configuration)).toHex(),
      vector.encoded,
      "the oracle",
    );
    assertEquals(
      oracleKept(patterns, kind, configuration),
      kind.patternsOf(decoded),
      "the oracle",
    );
  });
}
