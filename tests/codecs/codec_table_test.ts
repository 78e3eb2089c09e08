import { assertEquals } from "@std/assert";
import { registerCodecs } from "../../src/codecs/register_codecs.ts";
import { CODEC_BY_NAME, type CodecKind } from "../../src/metadata/codecs.ts";

/** What the guide says of a codec. */
interface Listed {
  readonly written: string;
  readonly isZarrita: boolean;
}

/** The codecs in a table of the guide. */
function listed(guide: string, heading: string): Map<string, Listed> {
  const section = guide.split(`### ${heading}\n`)[1]!.split("\n##")[0]!;
  const codecs = new Map<string, Listed>();
  for (const row of section.matchAll(/^\| (`.*?) +\|(.*)\|$/gm)) {
    const [, written, by] = row[2]!.split("|").map((cell) => cell.trim());
    const [names] = row[1]!.split(" with ");
    for (const [, name, dagger] of names!.matchAll(/`([^`]+)`(†?)/g)) {
      const all = dagger ? [name!, `numcodecs.${name}`] : [name!];
      for (const each of all) {
        // blosc has a second row, for what it reads alone.
        if (codecs.has(each)) continue;
        codecs.set(each, { written: written!, isZarrita: by === "zarrita" });
      }
    }
  }
  return codecs;
}

Deno.test("the guide lists the codecs of the table", async () => {
  const guide = await Deno.readTextFile(
    new URL("../../docs/threads-and-codecs.md", import.meta.url),
  );
  const headings: Readonly<Record<CodecKind, string>> = {
    bytes_to_bytes: "From bytes to bytes",
    array_to_array: "From array to array",
    array_to_bytes: "From array to bytes",
  };
  const words = { nothing: "no", floats: "floats" };
  for (const [kind, heading] of Object.entries(headings)) {
    const expected = Array.from(CODEC_BY_NAME)
      .filter(([, codec]) => codec.kind === kind && codec.by !== undefined)
      .map(([name, { by, written }]) =>
        [name, {
          written: written === undefined ? "yes" : words[written],
          isZarrita: by === "zarrita",
        }] as const
      );
    assertEquals(listed(guide, heading), new Map(expected));
  }
  for (const [name, { by }] of CODEC_BY_NAME) {
    if (by === undefined) {
      assertEquals(guide.includes(`\`${name}\``), true, name);
    }
  }
});

Deno.test("registerCodecs registers the codecs of the table that this package implements", () => {
  const loadBytes = () => Promise.resolve({});
  const registry = new Map<string, () => Promise<object>>([
    ["bytes", loadBytes],
    ["zstd", () => Promise.resolve({})],
  ]);
  registerCodecs(registry);
  const own = Array.from(CODEC_BY_NAME)
    .filter(([, { by }]) => !["zarrita", "shards", undefined].includes(by))
    .map(([name]) => name);
  assertEquals(
    Array.from(registry.keys()).toSorted(),
    ["bytes", ...own].toSorted(),
  );
  assertEquals(registry.get("bytes"), loadBytes);
});
