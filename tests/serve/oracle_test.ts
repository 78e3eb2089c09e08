import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { createArrayChunks, MemoryStore, type Store } from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";
import { runs } from "../support/runs.ts";
import { withoutVersions } from "../support/without_versions.ts";
import { served } from "./serving.ts";

interface Expected {
  status: number;
  contentRange?: string;
  body?: Uint8Array;
}

/** The rules of RFC 9110, sections 13.2.2, 14.1.2 and 14.2, taken word by word. */
function oracle(
  isHead: boolean,
  headers: Record<string, string>,
  bytes: Uint8Array,
  etag: string,
): Expected {
  const tagsOf = (text: string) => text.split(",").map((tag) => tag.trim());
  const ifMatch = headers["if-match"];
  if (ifMatch !== undefined && ifMatch !== "*") {
    if (!tagsOf(ifMatch).includes(etag)) return { status: 412 };
  }
  const ifNoneMatch = headers["if-none-match"];
  if (ifNoneMatch !== undefined) {
    const tags = tagsOf(ifNoneMatch).map((tag) => tag.replace(/^W\//, ""));
    if (ifNoneMatch === "*" || tags.includes(etag)) return { status: 304 };
  }
  const whole = { status: 200, body: isHead ? new Uint8Array() : bytes };
  const range = headers["range"];
  const ifRange = headers["if-range"];
  if (isHead || range === undefined) return whole;
  if (ifRange !== undefined && ifRange !== etag) return whole;
  if (!range.startsWith("bytes=")) return whole;
  const [first, last, ...more] = range.slice("bytes=".length).split("-");
  const isNumber = (text: string | undefined) => /^[0-9]*$/.test(text ?? "x");
  if (more.length > 0 || !isNumber(first) || !isNumber(last)) return whole;
  if (first === "" && last === "") return whole;
  const size = BigInt(bytes.length);
  let start: bigint;
  let end: bigint;
  if (first === "") {
    const length = BigInt(last!);
    if (length > 0n && size === 0n) return whole;
    start = length > size ? 0n : size - length;
    end = size;
  } else {
    start = BigInt(first!);
    end = last === "" ? size : BigInt(last!) + 1n;
    if (end <= start && last !== "") return whole;
    if (end > size) end = size;
  }
  if (start >= size || start >= end) {
    return { status: 416, contentRange: `bytes */${size}` };
  }
  return {
    status: 206,
    contentRange: `bytes ${start}-${end - 1n}/${size}`,
    body: bytes.slice(Number(start), Number(end)),
  };
}

const position = fc.oneof(
  fc.nat(12).map(String),
  fc.nat(12).map(String),
  fc.constantFrom("", "", "007", "9007199254740991", "9".repeat(30), "x", "-"),
);
const range = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.tuple(position, position).map(([a, b]) => `bytes=${a}-${b}`),
  },
  fc.constantFrom("bytes=", "bytes=5", "items=0-1", "bytes=0-1,4-5", "", "-"),
);
/** Stands for the entity tag of the value. */
const TAG = "TAG";
const tags = fc.oneof(
  fc.constant("*"),
  fc.array(fc.constantFrom(TAG, `W/${TAG}`, '"x"', 'W/"y"'), {
    minLength: 1,
    maxLength: 3,
  }).map((tags) => tags.join(", ")),
);
const headersArbitrary = fc.record({
  "range": range,
  "if-match": tags,
  "if-none-match": tags,
  "if-range": fc.constantFrom(TAG, '"x"', `W/${TAG}`),
}, { requiredKeys: [] });

/** Parts of at most one unsized part, and the length of that part. */
const layouts = fc.record({
  head: fc.array(fc.nat(3), { maxLength: 2 }),
  body: fc.option(fc.nat(5), { nil: undefined }),
  tail: fc.array(fc.nat(3), { maxLength: 2 }),
}).filter(({ head, body, tail }) =>
  body !== undefined || head.length + tail.length > 0
);

Deno.test("createHandler answers as RFC 9110 says, for any parts, ranges and conditions", async () => {
  await fc.assert(
    fc.asyncProperty(
      layouts,
      fc.boolean(),
      fc.constantFrom(0, 30),
      fc.array(fc.tuple(fc.boolean(), headersArbitrary), {
        minLength: 1,
        maxLength: 12,
      }),
      async ({ head, body, tail }, isVersioned, seconds, requests) => {
        const sizes = [
          ...head,
          ...body === undefined ? [] : [undefined],
          ...tail,
        ];
        const parts = sizes.map((size, i) => ({
          key_suffix: `.${i}`,
          ...size !== undefined && { size },
        }));
        const total = [...head, body ?? 0, ...tail].reduce((a, b) => a + b, 0);
        const stored = new MemoryStore();
        const chunks = await createArrayChunks(
          stored,
          "",
          arrayMetadata({ storage_transformers: [concatParts(...parts)] }),
        );
        const bytes = countingBytes(total, 1);
        await chunks.set([0, 0], bytes);
        const store: Store = isVersioned ? stored : withoutVersions(stored);
        const get = served(store, { keep: { seconds } });
        const first = await served(store)("/c/0/0", { method: "HEAD" });
        const etag = first.headers.get("etag")!;
        for (const [isHead, template] of requests) {
          const headers = Object.fromEntries(
            Object.entries(template).map(([name, value]) => [
              name,
              value.replaceAll(TAG, etag),
            ]),
          );
          const method = isHead ? "HEAD" : "GET";
          const response = await get("/c/0/0", { method, headers });
          const found: Expected = { status: response.status };
          const contentRange = response.headers.get("content-range");
          if (contentRange !== null) found.contentRange = contentRange;
          const read = await response.bytes();
          if (response.ok) {
            found.body = read;
            assertEquals(
              response.headers.get("content-length"),
              `${isHead ? total : read.length}`,
            );
          }
          assertEquals(found, oracle(isHead, headers, bytes, etag));
          assertEquals(response.headers.get("etag"), etag);
        }
        assertEquals(get.errors, []);
      },
    ),
    { numRuns: runs(200) },
  );
});
