import {
  assert,
  assertEquals,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import * as fc from "fast-check";
import {
  ChunkKeyError,
  MetadataError,
  parseChunkKeyEncoding,
} from "../../mod.ts";
import { runs } from "../support/runs.ts";
import {
  chunks,
  encodeSlowly,
  formats,
  make,
  separator,
} from "./template_formats.ts";

Deno.test("TemplateChunkKeyEncoding.encode agrees with replaced placeholders, and decode is its inverse", () => {
  let [encoded, refused] = [0, 0];
  fc.assert(
    fc.property(
      formats.chain((form) =>
        fc.tuple(fc.constant(form), chunks(form.rank, form.unnumbered))
      ),
      ([form, chunk]) => {
        const encoding = make(form);
        if (encoding === undefined) return;
        const key = encodeSlowly(form.format, form.separator, chunk);
        if (key === undefined) {
          assertThrows(() => encoding.encode(chunk), RangeError);
          refused++;
          return;
        }
        encoded++;
        assertStrictEquals(encoding.encode(chunk), key);
        if (form.unnumbered === 0) assertEquals(encoding.decode(key), chunk);
        assertEquals(encoding.decode(key, chunk.length), chunk);
        const parsed = parseChunkKeyEncoding(
          JSON.parse(JSON.stringify(encoding)),
        );
        assertEquals(parsed, encoding);
        assertStrictEquals(parsed.encode(chunk), key);
      },
    ),
    { numRuns: runs(5000), seed: 1 },
  );
  assert(
    encoded > runs(1000) && refused > 0,
    `${encoded} and ${refused}`,
  );
});

Deno.test("TemplateChunkKeyEncoding.decode accepts a key only if encode returns it", () => {
  const change = fc.record({
    at: fc.nat(20),
    remove: fc.nat(3),
    insert: fc.constantFrom("", "00", "12", "_0", ..."0123456789/.-_a٣"),
  });
  let [accepted, rejected] = [0, 0];
  fc.assert(
    fc.property(
      formats.chain((form) =>
        fc.tuple(fc.constant(form), chunks(form.rank, form.unnumbered))
      ),
      change,
      ([form, chunk], { at, remove, insert }) => {
        const encoding = make(form);
        if (encoding === undefined) return;
        const { format, separator, rank } = form;
        const key = encodeSlowly(format, separator, chunk);
        if (key === undefined) return;
        const start = at % (key.length + 1);
        const changed = key.slice(0, start) + insert +
          key.slice(start + remove);
        for (const expected of [undefined, rank]) {
          try {
            const found = encoding.decode(changed, expected);
            assertStrictEquals(
              encodeSlowly(format, separator, found),
              changed,
            );
            accepted++;
          } catch (error) {
            assert(error instanceof ChunkKeyError, `${error}`);
            assertStrictEquals(error.key, changed);
            rejected++;
          }
        }
      },
    ),
    { numRuns: runs(5000), seed: 1 },
  );
  assert(
    accepted > runs(500) && rejected > runs(500),
    `${accepted} and ${rejected}`,
  );
});

Deno.test("parseChunkKeyEncoding returns a template or throws a MetadataError for any format", () => {
  const format = fc.array(
    fc.oneof(
      fc.constantFrom("{0}", "{*}", "{-1:04}", "{{", "}}", "{", "}", ":", "0"),
      // fast-check takes seconds to prepare its unit "binary".
      fc.string({
        unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)),
        maxLength: 3,
      }),
    ),
    { maxLength: 6 },
  ).map((pieces) => pieces.join(""));
  let accepted = 0;
  fc.assert(
    fc.property(format, fc.option(separator), (format, separator) => {
      const configuration = { format, ...separator && { separator } };
      try {
        const encoding = parseChunkKeyEncoding({
          name: "template",
          configuration,
        });
        assertEquals(encoding.toJSON().configuration, configuration);
        accepted++;
      } catch (error) {
        if (!(error instanceof MetadataError)) throw error;
      }
    }),
    { numRuns: runs(2000), seed: 1 },
  );
  assert(accepted > 0, `accepted ${accepted}`);
});
