import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { MetadataError } from "../../mod.ts";
import { assertPartKeys, flatParts } from "../../src/concat_parts/mod.ts";
import { encodeSlowly, formats, make } from "./template_formats.ts";

/** All chunks of a small grid, with some larger coordinates. */
function* grid(rank: number, values: readonly number[]): Generator<number[]> {
  if (rank === 0) return yield [];
  for (const rest of grid(rank - 1, values)) {
    for (const value of values) yield [...rest, value];
  }
}

const VALUES = [0, 1, 2, 5, 10, 11, 12, 15, 42, 45, 46, 47, 50, 100, 101, 110]
  .concat([111, 119, 120, 150]);

Deno.test("TemplateChunkKeyEncoding refuses formats of two dimensions exactly if two chunks share a key", () => {
  let [allowed, refused] = [0, 0];
  const unpadded = formats.filter(({ format, rank, unnumbered }) =>
    rank === 2 && unnumbered === 0 && !/[:*+]/.test(format) &&
    /^[^/].*[^/]$/.test(format)
  );
  fc.assert(
    fc.property(unpadded, ({ format, separator, rank }) => {
      const keys = new Set<string | undefined>();
      let count = 0;
      const all = Array.from({ length: 110 }, (_, i) => i);
      for (const chunk of grid(rank, all)) {
        keys.add(encodeSlowly(format, separator, chunk));
        count++;
      }
      const encoding = make({ format, separator });
      assertEquals(encoding !== undefined, keys.size === count, format);
      if (encoding) allowed++;
      else refused++;
    }),
    { numRuns: 60, seed: 1 },
  );
  assert(allowed > 10 && refused > 10, `${allowed} and ${refused}`);
});

Deno.test("assertPartKeys agrees with comparing all part keys of a template's chunks", () => {
  const suffix = fc.string({
    unit: fc.constantFrom("0", "1", "5", "_", "/"),
    maxLength: 2,
  }).filter((text) => !text.includes("//") && !text.endsWith("/"));
  let [allowed, refused] = [0, 0];
  fc.assert(
    fc.property(
      formats.filter(({ rank }) => rank < 4),
      fc.uniqueArray(suffix, { minLength: 2, maxLength: 3 }),
      ({ format, separator, rank }, suffixes) => {
        const encoding = make({ format, separator });
        if (encoding === undefined) return;
        const seen = new Set<string>();
        let isShared = false;
        for (const chunk of grid(rank, VALUES)) {
          let key: string;
          try {
            key = encoding.encode(chunk);
          } catch {
            continue;
          }
          for (const suffix of suffixes) {
            isShared ||= seen.has(key + suffix);
            seen.add(key + suffix);
          }
        }
        const parts = suffixes.map((keySuffix) => ({ keySuffix }));
        const check = () => assertPartKeys(flatParts([parts]), encoding, rank);
        try {
          check();
          assertEquals(isShared, false, `${format} ${suffixes}`);
          allowed++;
        } catch (error) {
          if (!(error instanceof MetadataError)) throw error;
          const isUnusable = error.message.includes("segment");
          if (!isShared && !isUnusable) {
            // The chunks are not all chunks: the reported key must be one of two or more.
            const shared = JSON.parse(/"[^"]*"/.exec(error.message)![0]);
            const owners = suffixes.filter((suffix) => {
              if (!shared.endsWith(suffix)) return false;
              try {
                encoding.decode(
                  shared.slice(0, shared.length - suffix.length),
                  rank,
                );
                return true;
              } catch {
                return false;
              }
            });
            assert(owners.length > 1, `${format} ${suffixes}`);
          }
          refused++;
        }
      },
    ),
    { numRuns: 1500, seed: 1 },
  );
  assert(allowed > 200 && refused > 100, `${allowed} and ${refused}`);
});
