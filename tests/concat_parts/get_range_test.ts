/** The requests of reads to the store, and the bytes of ranges. */
import { assertEquals, assertRejects } from "@std/assert";
import {
  type ByteRange,
  ConcatParts,
  MemoryStore,
  type Part,
  PartSizeError,
} from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { logged } from "../support/observed_store.ts";
import { SHARD, storedChunk } from "./shard_chunk.ts";

/** The parts `.header`, the data and `.index`, and two tail parts. */
const LAYOUTS = {
  SHARD,
  TAILS: [
    { keySuffix: "" },
    { keySuffix: ".index", size: 100 },
    { keySuffix: ".crc", size: 4 },
  ],
} satisfies Record<string, Part[]>;

const HEADER = "get /c/0.header";
const DATA = "getRange /c/0";
const INDEX = "get /c/0.index";
const CRC = "get /c/0.crc";

/** A range of a chunk with 10,000 bytes of data between its sized parts, and what it asks the store for. */
const REQUESTS: [
  layout: keyof typeof LAYOUTS,
  range: ByteRange,
  requests: string[],
][] = [
  ["SHARD", { suffixLength: 1 }, [INDEX]],
  ["SHARD", { suffixLength: 4 }, [INDEX]],
  ["SHARD", { suffixLength: 1603 }, [INDEX]],
  ["SHARD", { suffixLength: 1604 }, [INDEX]],
  ["SHARD", { suffixLength: 1605 }, [INDEX, DATA]],
  ["SHARD", { suffixLength: 99_999 }, [HEADER, INDEX, DATA]],
  ["TAILS", { suffixLength: 4 }, [CRC]],
  ["TAILS", { suffixLength: 5 }, [CRC, INDEX]],
  ["TAILS", { suffixLength: 104 }, [CRC, INDEX]],
  ["TAILS", { suffixLength: 105 }, [CRC, INDEX, DATA]],
  ["SHARD", { offset: 0, length: 64 }, [HEADER]],
  ["SHARD", { offset: 63, length: 1 }, [HEADER]],
  ["SHARD", { offset: 63, length: 2 }, [HEADER, DATA]],
  ["SHARD", { offset: 64, length: 1 }, [DATA]],
  ["SHARD", { offset: 64, length: 10_000 }, [DATA]],
  ["SHARD", { offset: 64, length: 10_001 }, [INDEX, DATA]],
  // The data shows where it ends by giving fewer bytes than asked for.
  ["SHARD", { offset: 10_063, length: 5 }, [INDEX, DATA]],
  // For a range behind the data, its size must be looked up.
  ["SHARD", { offset: 10_064, length: 5 }, [INDEX, DATA, "size /c/0"]],
  ["SHARD", { offset: 0, length: 2 ** 53 - 1 }, [HEADER, INDEX, DATA]],
];

for (const [layout, range, requests] of REQUESTS) {
  Deno.test(`ConcatParts.apply: getRange of ${Deno.inspect(range)} asks for ${requests.join(", ")} only`, async () => {
    const parts = LAYOUTS[layout];
    const sized = parts.reduce((sum, part: Part) => sum + (part.size ?? 0), 0);
    const chunk = countingBytes(sized + 10_000);
    const { store, log } = logged(await storedChunk(parts, chunk));
    await new ConcatParts(parts).apply(store).getRange("/c/0", range);
    assertEquals(log.sort(), requests);
  });
}

Deno.test("ConcatParts.apply: a range within a large sized part reads the range and the size, not the part", async () => {
  const size = 256 * 1024 + 1;
  const parts = [{ keySuffix: ".head", size }, { keySuffix: "" }];
  const memory = await storedChunk(parts, countingBytes(size + 5));
  const { store, log } = logged(memory);
  const composed = new ConcatParts(parts).apply(store);
  assertEquals(
    await composed.getRange("/c/0", { offset: 1000, length: 10 }),
    countingBytes(10, 1000),
  );
  assertEquals(log.sort(), ["getRange /c/0.head", "size /c/0.head"]);

  await memory.set("/c/0.head", countingBytes(size + 1));
  const error = await assertRejects(
    () => composed.getRange("/c/0", { offset: 1000, length: 10 }),
    PartSizeError,
  );
  assertEquals([error.expected, error.actual], [size, size + 1]);
});

Deno.test("ConcatParts.apply: every range of a chunk with two unsized parts is right", async () => {
  const memory = new MemoryStore([
    ["/c/0.a", countingBytes(3)],
    ["/c/0.b", countingBytes(2, 3)],
    ["/c/0.c", countingBytes(4, 5)],
    ["/c/0.d", countingBytes(1, 9)],
  ]);
  const composed = new ConcatParts([
    { keySuffix: ".a" },
    { keySuffix: ".b", size: 2 },
    { keySuffix: ".c" },
    { keySuffix: ".d", size: 1 },
  ]).apply(memory);
  const chunk = countingBytes(10);
  assertEquals(await composed.get("/c/0"), chunk);
  for (let a = 0; a <= 11; a++) {
    assertEquals(
      await composed.getRange("/c/0", { suffixLength: a }),
      a === 0 ? new Uint8Array(0) : chunk.slice(-a),
    );
    for (let b = 0; b <= 11; b++) {
      assertEquals(
        await composed.getRange("/c/0", { offset: a, length: b }),
        chunk.slice(a, a + b),
        `${b} bytes from ${a}`,
      );
    }
  }
});
