import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import {
  type CodecFixture,
  coderOf,
  parseFixtures,
} from "../codecs/codec_fixtures.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON } from "./python.ts";

const SCRIPT = fileURLToPath(
  new URL("../fixtures/generate_codecs.py", import.meta.url),
);

/** Runs the generator of fixtures, and returns what it prints. */
async function generate(
  python: string,
  args: readonly string[],
  input = "",
): Promise<string> {
  const child = new Deno.Command(python, {
    args: ["-B", SCRIPT, ...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { success, stdout, stderr } = await child.output();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** Encodes the elements of a fixture; `undefined` if its codec is read alone. */
async function encodeFixture(
  fixture: CodecFixture,
): Promise<Uint8Array | undefined> {
  if (/bz2/.test(fixture.name)) return undefined;
  return await (await coderOf(fixture)).encode(fixture.bytes);
}

// Lengths around those at which codecs choose other forms.
for (
  const count of [1, 2, 7, 8, 9, 16, 63, 64, 65, 128, 1000, 33_333, 120_000]
) {
  testWith(
    PYTHON,
    `numcodecs and this package decode what the other one encodes: ${count} elements`,
    async (python) => {
      const text = await generate(python, ["encode", `${count}`, `${count}`]);
      const fixtures = parseFixtures(text);
      const cases: unknown[] = [];
      for (const fixture of fixtures) {
        const coder = await coderOf(fixture);
        const decoded = await coder.decode(fixture.encoded);
        assertEquals(decoded, fixture.decoded, fixture.title);
        const encoded = await encodeFixture(fixture);
        // numcodecs decodes no empty chunks by some of its codecs.
        if (encoded === undefined || fixture.bytes.length === 0) continue;
        assertEquals(
          await coder.decode(encoded),
          fixture.decoded,
          fixture.title,
        );
        cases.push({
          name: fixture.name,
          configuration: fixture.configuration,
          encoded: encoded.toBase64(),
          decoded: fixture.decoded.toBase64(),
        });
      }
      assert(cases.length > 100);
      const wrong = await generate(
        python,
        ["decode"],
        JSON.stringify({ cases }),
      );
      assertEquals(JSON.parse(wrong), []);
    },
  );
}
