import { assertEquals } from "@std/assert";
import { elementKind, type Elements } from "./element_kinds.ts";
import {
  type Configuration,
  oracleEncode,
  oracleKept,
} from "./packbits_oracle.ts";
import { chunkOf, packbits } from "./packbits_support.ts";

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
