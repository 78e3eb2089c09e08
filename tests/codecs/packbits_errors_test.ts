import {
  assertEquals,
  assertInstanceOf,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { DamageError } from "../../mod.ts";
import { noteKey } from "../../src/codecs/codec.ts";
import { chunkOf, packbits, PADDINGS } from "./packbits_support.ts";

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

Deno.test("packbits explains each number of padding bits in its errors", () => {
  for (let count = 1; count <= 16; count++) {
    for (const padding_encoding of ["first_byte", "last_byte"]) {
      const codec = packbits("bool", [count], { padding_encoding });
      const bytes = new Uint8Array(Math.ceil(count / 8) + 1);
      const place = padding_encoding === "first_byte" ? 0 : bytes.length - 1;
      const right = (16 - count) % 8;
      for (let number = 0; number <= 8; number++) {
        bytes[place] = number;
        if (number === right) codec.decode(bytes);
        else assertThrows(() => codec.decode(bytes), DamageError);
      }
    }
  }
});

const CHUNK = chunkOf(new Uint16Array(6), [2, 3]);
const MISFITS = {
  "too few elements": [
    { ...CHUNK, data: new Uint16Array(5) },
    "at least 6 elements, found 5",
  ],
  "too few elements for its gaps": [
    { ...CHUNK, stride: [4, 1] },
    "at least 7 elements, found 6",
  ],
  "another shape": [
    { ...CHUNK, shape: [2, 2] },
    "a chunk of 6 elements for packbits, found the shape [2, 2]",
  ],
  "strides of 0": [
    { ...CHUNK, stride: [0, 1] },
    "strides from 1, found [0, 1]",
  ],
  "strides below 0": [
    { ...CHUNK, stride: [3, -1] },
    "strides from 1, found [3, -1]",
  ],
  "strides missing": [{ ...CHUNK, stride: [3] }, "strides from 1, found [3]"],
} as const;

for (const [name, [chunk, part]] of Object.entries(MISFITS)) {
  Deno.test(`packbits rejects to encode a chunk with ${name}`, () => {
    const codec = packbits("uint16", [2, 3]);
    assertInstanceOf(codec.encode(CHUNK), Uint8Array);
    assertThrows(() => codec.encode(chunk), RangeError, part);
  });
}

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
