import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertThrows,
} from "@std/assert";
import { DamageError } from "../../mod.ts";
import { LERC } from "../../src/codecs/lerc_codec.ts";
import { runs } from "../support/runs.ts";

/** A chunk that imagecodecs has encoded, and the elements that it decodes. */
interface Case {
  readonly name: string;
  readonly dataType: string;
  readonly shape: readonly number[];
  readonly encoded: string;
  readonly elements: string;
}

const cases: readonly Case[] = JSON.parse(
  await Deno.readTextFile(new URL("../fixtures/lerc.json", import.meta.url)),
);
const entry = LERC;

function decode({ dataType, shape }: Case, encoded: Uint8Array): Uint8Array {
  const codecs = [{ name: "imagecodecs_lerc" }];
  const metadata = { dataType, shape, codecs } as never;
  const codec = entry.fromConfig({}, metadata) as {
    decode(bytes: Uint8Array): { data: Uint8Array };
  };
  const { buffer } = codec.decode(encoded).data;
  return new Uint8Array(buffer);
}

for (const each of cases) {
  Deno.test(`imagecodecs_lerc decodes ${each.name}`, () => {
    const encoded = Uint8Array.fromBase64(each.encoded);
    assertEquals(decode(each, encoded), Uint8Array.fromBase64(each.elements));
  });
}

/** Sets the checksum of the first band, without which nothing is decoded. */
function withChecksum(band: Uint8Array): Uint8Array {
  let [sum, sums] = [0xffff, 0xffff];
  const fold = (n: number) => n % 0xffff || 0xffff;
  for (let i = 14; i < band.length; i++) {
    sum += i % 2 === 0 ? band[i]! << 8 : band[i]!;
    if (i % 2 === 1 || i === band.length - 1) {
      sum = fold(sum);
      sums = fold(sums + sum);
    }
  }
  const view = new DataView(band.buffer);
  view.setUint16(10, sum, true);
  view.setUint16(12, sums, true);
  return band;
}

/** Places in bands of version 2.4. */
const [MASK, BLOCK_SIZE, LENGTH, DATA_TYPE] = [66, 30, 34, 38];

Deno.test("imagecodecs_lerc refuses crafted chunks by a DamageError, in little time and memory", () => {
  const words = [0, 1, 255, 0x7fff, 0x10000, 1e9, 0x7fffffff, -1, -(2 ** 31)];
  let state = 1;
  const next = (below: number) => {
    state = Math.imul(state, 48271) >>> 0;
    return (state >>> 8) % below;
  };
  const messages = new Set<string>();
  for (let run = 0; run < runs(8000); run++) {
    const each = cases[next(cases.length)]!;
    const band = Uint8Array.fromBase64(each.encoded);
    const view = new DataView(band.buffer);
    assertEquals(view.getInt32(6, true), 4);
    for (let changes = 1 + next(3); changes > 0; changes--) {
      const from = next(4) === 0 ? BLOCK_SIZE : MASK;
      const at = from +
        Math.floor((band.length - from) * next(1000) ** 2 / 1e6);
      if (next(2) === 0) band[at] = next(256);
      else if (at + 4 <= band.length) {
        view.setInt32(at, words[next(words.length)]!, true);
      }
    }
    view.setInt32(LENGTH, band.length, true);
    try {
      decode(each, withChecksum(band));
    } catch (error) {
      assertInstanceOf(error, DamageError, `run ${run}: ${error}`);
      messages.add(error.message.replace(/.*: /, ""));
    }
  }
  // The checksum is right, or no other damage would be met.
  assert(messages.has("The header of a block is damaged"));
  assert(messages.has("A block is too long"));
  assert(messages.has("The table of its code is damaged"));
  assert(!messages.has("Its checksum does not match"));
});

Deno.test("imagecodecs_lerc refuses other versions, data types, lengths and checksums", () => {
  const [each] = cases as [Case];
  const changes: [number, number, string][] = [
    [6, 6, "Expected LERC 2.3 to 2.5, found 2.6"],
    [0, 0, 'Expected "Lerc2 " at its start'],
    [DATA_TYPE, 8, "Its header is damaged"],
    [DATA_TYPE, 1, "Expected elements of int8, found uint8"],
    [LENGTH, 10, "A band has 10 bytes"],
    [BLOCK_SIZE, 2 ** 20, "Its header is damaged"],
    [14, 2 ** 31 - 1, "Expected a picture for a chunk of the shape"],
  ];
  for (const [at, value, message] of changes) {
    const band = Uint8Array.fromBase64(each.encoded);
    new DataView(band.buffer).setInt32(at, value, true);
    assertThrows(() => decode(each, withChecksum(band)), DamageError, message);
  }
  const band = Uint8Array.fromBase64(each.encoded);
  band[70]! ^= 1;
  const message = "Its checksum does not match";
  assertThrows(() => decode(each, band), DamageError, message);
});
