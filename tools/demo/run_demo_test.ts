import {
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { decode } from "fast-png";
import { fileURLToPath } from "node:url";
import { filesIn, inTempDir } from "../../tests/stores/temp_dir.ts";
import { runOptions } from "../../tests/support/deno_program.ts";
import { report } from "./report.ts";
import { assertSame, georeferenceOf, runDemo } from "./run_demo.ts";

const at = (path: string) => fileURLToPath(import.meta.resolve(path));
const SOURCE = at("../../tests/fixtures/dem.zarr");

Deno.test("runDemo() stores TIFF files with their indexes and a map, and names them", async () => {
  await inTempDir(async (folder) => {
    // Files of an earlier run are replaced, and all others stay.
    await Deno.mkdir(`${folder}/dem.zarr/c/9`, { recursive: true });
    await Deno.writeTextFile(`${folder}/dem.png`, "earlier");
    await Deno.writeTextFile(`${folder}/notes.txt`, "mine");
    const result = await runDemo(SOURCE, folder);
    assertEquals(await filesIn(folder), [
      "dem.png",
      "dem.zarr",
      "notes.txt",
      "relief.zarr",
    ]);
    const shards = [...result.elevations, ...result.colours];
    assertEquals(
      shards.map((
        { path, width, height },
      ) => [path.slice(folder.length), width, height]),
      [
        ["/dem.zarr/c/0/0.tiff", 256, 192],
        ["/dem.zarr/c/0/1.tiff", 147, 192],
        ["/dem.zarr/c/1/0.tiff", 256, 152],
        ["/dem.zarr/c/1/1.tiff", 147, 152],
        ["/relief.zarr/c/0/0/0.tiff", 256, 192],
        ["/relief.zarr/c/0/1/0.tiff", 147, 192],
        ["/relief.zarr/c/1/0/0.tiff", 256, 152],
        ["/relief.zarr/c/1/1/0.tiff", 147, 152],
      ],
    );
    assertEquals(await filesIn(`${folder}/dem.zarr/c`), ["0", "1"]);
    for (const { path, sizes } of shards) {
      const tiff = await Deno.readFile(path);
      assertEquals(Array.from(tiff.subarray(0, 4)), [0x49, 0x49, 42, 0]);
      const { size } = await Deno.stat(`${path}.index`);
      assertEquals(sizes, [tiff.length, size]);
    }
    const { width, height } = decode(await Deno.readFile(result.map));
    assertEquals(width, 2 * result.model.width);
    assertEquals([height > width, result.map], [true, `${folder}/dem.png`]);

    const text = report(result, (path) => path);
    assertStringIncludes(text, "138632 elevations and 415896 colour values");
    const paths = text.match(new RegExp(`${folder}\\S+\\b`, "g"))!;
    assertEquals(paths.length >= 12, true);
    for (const path of paths) {
      assertEquals((await Deno.stat(path)).isFile, true);
    }
  });
});

Deno.test("runDemo() says what is wrong with its source", async () => {
  await inTempDir(async (folder) => {
    await assertRejects(
      () => runDemo(`${folder}/none`, folder),
      Error,
      `${folder}/none`,
    );
    const document = await Deno.readTextFile(`${SOURCE}/zarr.json`);
    const changed = document.replace("int16", "float64");
    await Deno.mkdir(`${folder}/source`);
    await Deno.writeTextFile(`${folder}/source/zarr.json`, changed);
    await assertRejects(
      () => runDemo(`${folder}/source`, folder),
      TypeError,
      "Expected an array of int16 or uint8, found float64",
    );
  });
});

Deno.test("assertSame() finds one element that differs, and a missing one", () => {
  const stored = Int16Array.of(1, -2, 3);
  assertSame([1, -2, 3], stored, "dem.zarr");
  for (let i = 0; i < stored.length; i++) {
    const read = stored.slice();
    read[i]!++;
    assertThrows(
      () => assertSame(read, stored, "dem.zarr"),
      Error,
      `Expected element ${i} in dem.zarr to be ${stored[i]}, found ${read[i]}`,
    );
  }
  for (const read of [[1, -2], [1, -2, 3, 0]]) {
    assertThrows(
      () => assertSame(read, stored, "dem.zarr"),
      Error,
      `Expected 3 elements in dem.zarr, found ${read.length}`,
    );
  }
});

Deno.test("georeferenceOf() has the size of a pixel, and the north-western corner", () => {
  const box = { west: 10, south: 44, east: 12, north: 45 };
  const { geoKeyDirectory, ...place } = georeferenceOf(box, {
    width: 4,
    height: 5,
  });
  assertEquals(place, {
    modelPixelScale: [0.5, 0.2, 0],
    modelTiepoint: [0, 0, 0, 10, 45, 0],
  });
  assertEquals(geoKeyDirectory!.length, 4 + 4 * geoKeyDirectory![3]!);
});

Deno.test("the demo explains itself, and refuses arguments", async () => {
  for (
    const [args, code] of [[["--help"], 0], [["-h"], 0], [["x"], 2]] as const
  ) {
    const { code: found, stdout, stderr } = await new Deno.Command(
      Deno.execPath(),
      { args: ["run", ...runOptions(), at("./main.ts"), ...args] },
    ).output();
    const text = new TextDecoder().decode(code === 0 ? stdout : stderr);
    assertEquals(found, code);
    assertStringIncludes(text, "Usage: deno task demo");
  }
});

Deno.test("the demo shows commands, names their files, and fits in 80 columns", async () => {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", ...runOptions(), at("./main.ts")],
    cwd: at("../.."),
    env: { INIT_CWD: "" },
  }).output();
  const lines = new TextDecoder().decode(stdout).split("\n");
  assertEquals(code, 0);
  assertEquals(lines.filter((line) => line.length > 80), []);
  assertEquals(
    lines.flatMap((line) => /^\$ zarr-parts (\w+)/.exec(line)?.[1] ?? []),
    ["inspect", "convert", "verify", "inspect"],
  );
  assertStringIncludes(lines.join("\n"), "12 chunks verified, nothing found");
});
