import { parseShardLayout } from "../../mod.ts";
import { refusing } from "../support/metadata.ts";

const BYTES = { name: "bytes", configuration: { endian: "little" } };
const CRC32C = { name: "crc32c" };

/** Refuses index codecs; `path` is below `index_codecs`. */
const assertRefused = refusing((index_codecs: unknown[]) =>
  parseShardLayout({
    name: "sharding_indexed",
    configuration: { chunk_shape: [1], codecs: [BYTES], index_codecs },
  }, [1]), "/configuration/index_codecs");

Deno.test("parseShardLayout rejects index codecs other than bytes and crc32c after it", () => {
  const gzip = { name: "gzip", configuration: { level: 5 } };
  const wrong: [codecs: unknown[], names: string][] = [
    [[], "[]"],
    [[CRC32C], '["crc32c"]'],
    [[CRC32C, BYTES], '["crc32c", "bytes"]'],
    [[BYTES, BYTES], '["bytes", "bytes"]'],
    [[gzip], '["gzip"]'],
    [[BYTES, gzip], '["bytes", "gzip"]'],
    [[gzip, CRC32C], '["gzip", "crc32c"]'],
    [[BYTES, "zstd"], '["bytes", "zstd"]'],
    [["endian", CRC32C], '["endian", "crc32c"]'],
    [["Bytes"], '["Bytes"]'],
    [[BYTES, "crc32"], '["bytes", "crc32"]'],
    [[BYTES, CRC32C, CRC32C], '["bytes", "crc32c", "crc32c"]'],
    [[BYTES, CRC32C, gzip], '["bytes", "crc32c", "gzip"]'],
    [[BYTES, gzip, CRC32C], '["bytes", "gzip", "crc32c"]'],
    [["transpose", BYTES, CRC32C], '["transpose", "bytes", "crc32c"]'],
  ];
  for (const [codecs, names] of wrong) {
    assertRefused(
      codecs,
      `Expected index_codecs to be bytes, and maybe crc32c after it, found ${names}`,
      "",
    );
  }
});

Deno.test("parseShardLayout rejects bytes without a byte order, in long form and as a name alone", () => {
  const path = "/0/configuration/endian";
  const message = 'Missing member "endian" in the configuration of bytes';
  for (const bytes of ["bytes", { name: "bytes" }]) {
    assertRefused([bytes], message, path);
    assertRefused([bytes, CRC32C], message, path);
  }
  assertRefused([{ name: "bytes", configuration: {} }], message, path);
});

Deno.test("parseShardLayout rejects byte orders other than little and big", () => {
  for (const endian of ["native", "Little", "", null, 1, ["little"]]) {
    assertRefused(
      [{ name: "bytes", configuration: { endian } }, CRC32C],
      'Expected endian "little" or "big", as numbers of eight bytes need it, found',
      "/0/configuration/endian",
    );
  }
});

Deno.test("parseShardLayout rejects unknown members of bytes", () => {
  assertRefused(
    [{ name: "bytes", configuration: { endian: "little", size: 8 } }],
    'Unknown member "size" in the configuration of bytes; known are "endian"',
    "/0/configuration/size",
  );
});

Deno.test("parseShardLayout rejects invalid index codecs, and names them", () => {
  const valid = [BYTES, CRC32C];
  for (const i of [0, 1]) {
    const withCodec = (codec: unknown) => valid.with(i, codec as typeof BYTES);
    for (const codec of [null, undefined, 5, [], false]) {
      assertRefused(
        withCodec(codec),
        "Expected a codec, a name or an object with a name, found",
        `/${i}`,
      );
    }
    assertRefused(withCodec(""), "found an empty string", `/${i}`);
    assertRefused(withCodec({}), 'Missing member "name"', `/${i}/name`);
    assertRefused(
      withCodec({ name: ["bytes"] }),
      "Expected a name",
      `/${i}/name`,
    );
    assertRefused(
      withCodec({ name: "crc32c", configuration: 4 }),
      "Expected a configuration object, found 4",
      `/${i}/configuration`,
    );
    assertRefused(
      withCodec({ name: "crc32c", endian: "little" }),
      'Unknown member "endian" in a codec',
      `/${i}/endian`,
    );
  }
});
