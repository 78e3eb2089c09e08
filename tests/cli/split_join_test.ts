import { assertEquals, assertStringIncludes } from "@std/assert";
import { crc32c } from "../../mod.ts";
import { appendChecksum } from "../../src/checksum/crc32c.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { countingBytes } from "../support/bytes.ts";
import { treeOf } from "../support/tree.ts";
import { runCli } from "./run_cli.ts";

/** Lists of parts, and the lengths of the parts of a file of 100,000 bytes. */
const LISTS: [string, Record<string, number>][] = [
  [".header:64,.data,.index:1024", {
    ".header": 64,
    ".data": 98_912,
    ".index": 1024,
  }],
  [",.index:36,.crc32c", { "": 99_960, ".index": 36, ".crc32c": 4 }],
  [".a:0,.b:100000,.c", { ".a": 0, ".b": 100_000, ".c": 0 }],
  [".a:1,.b:99999", { ".a": 1, ".b": 99_999 }],
  ["/all", { "/all": 100_000 }],
];

Deno.test("split and join go there and back, and leave nothing else", async () => {
  await inTempDir(async (folder) => {
    const bytes = appendChecksum(countingBytes(99_996));
    await Deno.writeFile(`${folder}/file.bin`, bytes);
    for (const [i, [parts, sizes]] of LISTS.entries()) {
      const name = `${folder}/new/${i}/chunk`;
      const split = await runCli(
        ...["split", `${folder}/file.bin`, "--to", name],
        ...["--parts", parts, "--crc32c"],
      );
      assertEquals([split.code, split.err], [0, ""]);
      assertStringIncludes(split.out, "file.bin split, 100 kB\n");
      const lengths = await Promise.all(
        Object.keys(sizes).map(async (suffix) => [
          suffix,
          (await Deno.stat(name + suffix)).size,
        ]),
      );
      assertEquals(Object.fromEntries(lengths), sizes);
      const before = await treeOf(`${folder}/new/${i}`);
      const joined = await runCli(
        ...["join", name, "--to", `${folder}/${i}.bin`],
        ...["--parts", parts, "--crc32c", "--json"],
      );
      assertEquals(joined.code, 0, joined.err);
      const { size, parts: reported } = JSON.parse(joined.out);
      assertEquals(size, 100_000);
      assertEquals(
        reported.map(({ path, size }: { path: string; size: number }) => [
          path.slice(name.length),
          size,
        ]),
        Object.entries(sizes),
      );
      assertEquals(await Deno.readFile(`${folder}/${i}.bin`), bytes);
      assertEquals(await treeOf(`${folder}/new/${i}`), before);
    }
    const names = Object.keys(await treeOf(folder));
    assertEquals(names.filter((name) => name.includes("tmp")), []);
  });
});

Deno.test("split and join take their own names where no part has the name of the file", async () => {
  await inTempDir(async (folder) => {
    const file = `${folder}/file`;
    const bytes = countingBytes(1000);
    await Deno.writeFile(file, bytes);
    const parts = ["--parts", ".head:3,.data"];
    assertEquals((await runCli("split", file, ...parts)).code, 0);
    const refused = await runCli("join", file, ...parts);
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.err, "expected no file, or --overwrite");
    await Deno.writeFile(file, new Uint8Array(1));
    assertEquals((await runCli("join", file, ...parts, "--overwrite")).code, 0);
    assertEquals(await Deno.readFile(file), bytes);
    await Deno.writeFile(file, new Uint8Array(9));
    const again = await runCli(
      "split",
      file,
      ...parts,
      "--overwrite",
      "--quiet",
    );
    assertEquals(again, { code: 0, out: "", err: "" });
    assertEquals((await Deno.stat(`${file}.data`)).size, 6);
  });
});

/** Mistakes, with the exit status and the message. `DIR` holds `file` of 100 bytes, and `part.a` of 10. */
const MISTAKES: [string, number, string][] = [
  ["split DIR/file", 2, "Expected --parts=LIST"],
  ["split DIR/file --to s3://b/c --parts .a:1,.b", 2, "found a URL"],
  ["join DIR/part --to https://a.b/c --parts .a", 2, "found a URL"],
  ["split DIR/file --parts .a,.b", 2, 'one has no size, found ".a" and ".b"'],
  ["split DIR/file --parts .a:x", 2, 'in bytes after ".a:x", such as .a:64'],
  ["split DIR/file --parts ,.index", 2, 'bytes after ".index", such as .index'],
  ["split DIR/file --parts .a:1,.a:2", 2, "keySuffix"],
  ["split DIR/file --parts ,.b:9", 2, 'file", which is read: expected --to'],
  [
    "split DIR/file --parts ,.b:9 --overwrite",
    2,
    'file", which is read: expected --to',
  ],
  ["split DIR/file --to DIR/../NAME/file --parts ,.b:9", 2, "which is read"],
  ["split DIR --parts .a:1,.b", 2, 'a file, found a folder: "DIR"'],
  ["split DIR/file --to DIR --parts ,.b:1", 2, 'found a folder: "DIR"'],
  ["split DIR/file --to DIR/file/a --parts ,.b:1", 1, "to be a folder, f"],
  ["split DIR/file --parts .a:10,.b:99", 1, "(in DIR)"],
  ["split DIR/file --parts .a:101,.b", 1, "(in DIR)"],
  ["split DIR/file --to DIR/part --parts .a:1,.b", 1, "part.a"],
  ["split DIR/file --parts .a:1,.b --crc32c", 1, "CRC32C"],
  ["split DIR/none --parts .a:1,.b", 1, 'There is no file "DIR/none"'],
  [
    "join DIR/none --parts .a:1,.b",
    1,
    'There are no parts: expected "DIR/none.a", "DIR/none.b"',
  ],
  ["join DIR/part --parts .a:10,.b", 1, ".b"],
  ["join DIR/part --parts .a:11", 1, "10"],
  ["join DIR/part --parts .a --to DIR/part.a", 2, "which is read"],
  ["join DIR/part --parts .a --to DIR/file", 1, "expected no file, or --over"],
  ["join DIR/part --parts .a --crc32c", 1, "CRC32C"],
];

Deno.test("split and join answer mistakes, and change nothing", async () => {
  await inTempDir(async (folder) => {
    await Deno.writeFile(`${folder}/file`, countingBytes(100));
    await Deno.writeFile(`${folder}/part.a`, countingBytes(10));
    const before = await treeOf(folder);
    const name = folder.split("/").at(-1)!;
    for (const [line, status, message] of MISTAKES) {
      const args = line.replaceAll("DIR", folder).replace("NAME", name);
      const { code, out, err } = await runCli(...args.split(" "));
      assertEquals([code, out], [status, ""], `${line}: ${err}`);
      assertStringIncludes(err.replaceAll(folder, "DIR"), message, line);
      assertEquals(await treeOf(folder), before, line);
    }
  });
});

Deno.test("split refuses a file with a wrong checksum after all bytes, and keeps no part", async () => {
  await inTempDir(async (folder) => {
    const bytes = appendChecksum(countingBytes(3_000_000));
    assertEquals(crc32c(bytes.subarray(0, -4)) > 0, true);
    bytes[2_999_999]! ^= 1;
    await Deno.writeFile(`${folder}/file`, bytes);
    const { code } = await runCli(
      ...["split", `${folder}/file`, "--to", `${folder}/chunk`],
      ...["--parts", ".a:5,,.crc32c", "--crc32c"],
    );
    assertEquals(code, 1);
    assertEquals(Object.keys(await treeOf(folder)), ["/file"]);
  });
});
