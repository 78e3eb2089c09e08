/** Conversions between file stores, where the operating system copies the files of long chunks. */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { convert, type ConvertOptions } from "../../jobs.ts";
import {
  type ArrayChunks,
  arrayMetadata,
  type ArrayMetadataOptions,
  createArrayChunks,
  DamageError,
  encodeShard,
  FileSystemStore,
  type NamedConfiguration,
  openArrayChunks,
  parseShardLayout,
  recover,
} from "../../mod.ts";
import { appendChecksum } from "../../src/checksum/crc32c.ts";
import { joinBytes } from "../../src/runtime/bytes.ts";
import { isSameBytes } from "../../src/runtime/bytes.ts";
import { temporaryFiles } from "../stores/file_system/processes.ts";
import { inTempDir, replaced } from "../stores/temp_dir.ts";
import { countingBytes } from "../support/bytes.ts";
import { ALL_METHODS, observed } from "../support/observed_store.ts";
import { digestsOf } from "./digests.ts";

const isLinux = Deno.build.os === "linux";

/** Files are copied if they have more bytes in common than this. */
const LIMIT = 1024 * 1024;
const SHARD = 4 * LIMIT;

/** Options of an array, beside its shape. */
type Layout = Omit<ArrayMetadataOptions, "shape" | "dataType">;

const RAW: Layout = { chunkShape: [SHARD] };
const SHARDS: Layout = { shardShape: [SHARD], chunkShape: [2 * LIMIT] };

/** Creates an array of two chunks of different lengths, and a long file beside it. */
async function createSource(
  folder: string,
  layout: Layout,
): Promise<FileSystemStore> {
  const store = new FileSystemStore(folder);
  const metadata = arrayMetadata({
    shape: [2 * SHARD],
    dataType: "uint8",
    ...layout,
  });
  const chunks = await createArrayChunks(store, "", metadata);
  for (const i of [0, 1]) {
    await chunks.set([i], chunkOf(chunks, i));
  }
  await store.set("/notes.bin", countingBytes(LIMIT + 1));
  return store;
}

/** A chunk of another length for each number, as its last codec encodes it. */
function chunkOf({ metadata, chunkShape }: ArrayChunks, i: number): Uint8Array {
  const codec = metadata.codecs.at(-1) as NamedConfiguration;
  if (codec.name === "sharding_indexed") {
    const inner = [countingBytes(LIMIT + i, i), countingBytes(9, i)];
    return encodeShard(inner, parseShardLayout(codec, chunkShape));
  }
  const bytes = countingBytes(LIMIT + 13 + 7 * i, i);
  return codec.name === "crc32c" ? appendChecksum(bytes) : bytes;
}

/** Converts to a new folder. Returns the store, and the number of files that were copied. */
async function convertAndCount(
  source: FileSystemStore,
  folder: string,
  options: ConvertOptions,
): Promise<{ target: FileSystemStore; copied: number }> {
  const target = new FileSystemStore(folder);
  const { copyFile } = Deno;
  let copied = 0;
  await replaced("copyFile", (...args) => {
    copied++;
    return copyFile(...args);
  }, () => convert(source, target, options));
  return { target, copied };
}

/** Converts without copies of files. */
async function convertByStreams(
  source: FileSystemStore,
  folder: string,
  options: ConvertOptions,
): Promise<FileSystemStore> {
  const target = new FileSystemStore(folder);
  await convert(observed(source, () => {}, ALL_METHODS), target, options);
  return target;
}

const INDEX = { parts: ["", ".index"] };
const INDEX_7 = { parts: ["", ".t:7"] };
const CASES: [
  name: string,
  from: Layout,
  to: ConvertOptions,
  /** The number of files of the two chunks that are copied. */
  copies: number,
][] = [
  ["other keys", RAW, { suffix: ".s" }, 2],
  ["shards to other keys", SHARDS, { keyEncoding: "v2" }, 2],
  ["cut", RAW, { parts: ["", ".t:7"] }, 2],
  ["shards cut before the index", SHARDS, INDEX, 2],
  ["shards joined", { ...SHARDS, ...INDEX }, { plain: true }, 2],
  ["an index in front", { ...SHARDS, indexLocation: "start" }, {
    suffix: ".s",
  }, 2],
  ["joined", { ...RAW, parts: ["", ".a:3", ".b:4"] }, { plain: true }, 2],
  ["other parts behind", { ...RAW, parts: ["", ".a:7"] }, {
    parts: [".data", ".x/b:3", ".c:5", ".none:0"],
  }, 2],
  ["other parts in front", { ...RAW, parts: [".h:5", ""] }, {
    suffix: ".s",
    parts: [".h:2", ".i:3", "", ".t:4"],
  }, 0],
  ["more parts behind", RAW, { parts: ["", ".t:13"] }, 2],
  ["shifted by a byte", RAW, { parts: [".h:1", ""] }, 0],
  ["shifted back", { ...RAW, parts: [".h:1", ""] }, { plain: true }, 0],
  ["a checksum of the whole", { ...RAW, codecs: ["crc32c"] }, {
    parts: ["", ".crc32c:4"],
  }, 0],
];

for (const [name, from, to, copies] of CASES) {
  Deno.test(`convert copies files as streams do, ${name}`, async () => {
    await inTempDir(async (folder) => {
      const source = await createSource(`${folder}/source`, from);
      const before = await digestsOf(source);
      const { target, copied } = await convertAndCount(
        source,
        `${folder}/target`,
        to,
      );
      const other = await convertByStreams(source, `${folder}/other`, to);
      assertEquals(await digestsOf(target), await digestsOf(other));
      assertEquals(await digestsOf(source), before);
      assertEquals(await temporaryFiles(folder), []);
      // The file beside the array is copied, too.
      if (isLinux) assertEquals(copied, copies + 1);
    });
  });
}

/** Runs a conversion whose copies of files are disturbed. Returns its error. */
async function disturbed(
  folder: string,
  options: ConvertOptions,
  disturb: typeof Deno.copyFile,
): Promise<unknown> {
  const source = new FileSystemStore(`${folder}/source`);
  const target = new FileSystemStore(`${folder}/target`);
  let error: unknown;
  await replaced("copyFile", disturb, async () => {
    error = await convert(source, target, options).then(() => {}, (e) => e);
  });
  assertEquals(await temporaryFiles(folder), []);
  return error;
}

for (const parts of [undefined, INDEX.parts]) {
  const to: ConvertOptions = { suffix: ".s", parts };
  const name = parts ? "in parts" : "in one object";

  Deno.test(`convert copies no file of a shard whose index is damaged, ${name}`, async () => {
    for (const from of [SHARDS, { ...SHARDS, ...INDEX }]) {
      await inTempDir(async (folder) => {
        const source = await createSource(`${folder}/source`, from);
        const key = from.parts ? "/c/1.index" : "/c/1";
        const bytes = (await source.get(key))!;
        bytes[bytes.length - 6]! ^= 1;
        await source.set(key, bytes);
        const target = new FileSystemStore(`${folder}/target`);
        await assertRejects(() => convert(source, target, to), DamageError);
        const keys = await Array.fromAsync(target.list());
        assert(!keys.some((each) => each.startsWith("/c/1")), String(keys));
        assertEquals(await temporaryFiles(folder), []);
      });
    }
  });

  Deno.test(`convert notices a file that is changed before it is copied, ${name}`, async () => {
    for (const growth of [-1, 1]) {
      await inTempDir(async (folder) => {
        await createSource(`${folder}/source`, SHARDS);
        const { copyFile } = Deno;
        const error = await disturbed(folder, to, async (from, to) => {
          const { size } = await Deno.stat(from);
          await Deno.truncate(String(from), size + growth);
          await copyFile(from, to);
        });
        const found = error instanceof Error ? error.message : "";
        if (isLinux) assert(found.includes("and ended after"), found);
      });
    }
  });

  Deno.test(`convert leaves nothing of a file that could not be copied, and resumes, ${name}`, async () => {
    await inTempDir(async (folder) => {
      const source = await createSource(`${folder}/source`, SHARDS);
      const full = Object.assign(new Error("No space"), { code: "ENOSPC" });
      const error = await disturbed(folder, to, async (from, to) => {
        const bytes = await Deno.readFile(from);
        await Deno.writeFile(to, bytes.subarray(0, 99));
        throw full;
      });
      if (isLinux) assertEquals(error, full);
      const target = new FileSystemStore(`${folder}/target`);
      await convert(source, target, { ...to, resume: true });
      const other = await convertByStreams(source, `${folder}/other`, to);
      assertEquals(await digestsOf(target), await digestsOf(other));
    });
  });

  Deno.test(`convert copies again what recover has removed before it was whole, ${name}`, async () => {
    await inTempDir(async (folder) => {
      const source = await createSource(`${folder}/source`, SHARDS);
      const target = new FileSystemStore(`${folder}/target`);
      const { copyFile } = Deno;
      let removed = 0;
      const error = await disturbed(
        folder,
        { ...to, concurrency: 1 },
        async (from, to) => {
          await copyFile(from, to);
          const { temporary } = await recover(target);
          removed += temporary.files;
        },
      );
      assertEquals(error, undefined);
      if (isLinux) assertEquals(removed, 3);
      const other = await convertByStreams(source, `${folder}/other`, to);
      assertEquals(await digestsOf(target), await digestsOf(other));
    });
  });

  Deno.test(`convert copies files also over one that is there, ${name}`, async () => {
    await inTempDir(async (folder) => {
      const source = await createSource(`${folder}/source`, SHARDS);
      const target = new FileSystemStore(`${folder}/target`);
      const stop = new Error("stop");
      await disturbed(folder, to, () => Promise.reject(stop));
      await target.set("/c/0.s", countingBytes(LIMIT + 2));
      const { copied } = await convertAndCount(source, `${folder}/target`, {
        ...to,
        resume: true,
      });
      if (isLinux) assertEquals(copied, 3);
      const other = await convertByStreams(source, `${folder}/other`, to);
      assertEquals(await digestsOf(target), await digestsOf(other));
    });
  });
}

Deno.test("convert copies no chunk of two writes, while another program replaces chunks of the same length", async () => {
  for (const from of [RAW, { ...RAW, parts: ["", ".a:9"] }]) {
    await inTempDir(async (folder) => {
      const source = await createSource(`${folder}/source`, from);
      const writer = await openArrayChunks(source, "");
      const versions = [await writer.get([0])];
      versions.push(versions[0]!.map((byte) => byte ^ 1));
      const { copyFile } = Deno;
      const error = await disturbed(folder, INDEX_7, async (from, to) => {
        await copyFile(from, to);
        if (String(from).endsWith("/c/0")) await writer.set([0], versions[1]!);
      });
      assertStringIncludes(String(error), "has changed while it was converted");
      const target = new FileSystemStore(`${folder}/target`);
      const parts = [await target.get("/c/0"), await target.get("/c/0.t")];
      const copied = joinBytes(parts as Uint8Array[]);
      assert(versions.some((version) => isSameBytes(version!, copied)));
    });
  }
});

Deno.test("convert gives copies of files the permissions of new files", async () => {
  await inTempDir(async (folder) => {
    const source = await createSource(`${folder}/source`, RAW);
    await Deno.chmod(`${folder}/source/c/0`, 0o400);
    await Deno.chmod(`${folder}/source/c/1`, 0o666);
    await convert(source, new FileSystemStore(`${folder}/target`), INDEX_7);
    const modes = ["zarr.json", "c/0", "c/0.t", "c/1", "c/1.t"].map((name) =>
      Deno.statSync(`${folder}/target/${name}`).mode
    );
    assertEquals(modes, modes.map(() => modes[0]!));
  });
});

Deno.test("convert copies chunks that are links, and writes no link", async () => {
  await inTempDir(async (folder) => {
    const source = await createSource(`${folder}/source`, RAW);
    await Deno.rename(`${folder}/source/c/0`, `${folder}/source/elsewhere`);
    await Deno.symlink("../elsewhere", `${folder}/source/c/0`);
    const { target, copied } = await convertAndCount(
      source,
      `${folder}/target`,
      { suffix: ".s" },
    );
    if (isLinux) assertEquals(copied, 4);
    assert((await Deno.lstat(`${folder}/target/c/0.s`)).isFile);
    assertEquals(await target.get("/c/0.s"), await source.get("/c/0"));
  });
});

Deno.test("convert waits for copies of files if the target does so", async () => {
  const { sync } = Deno.FsFile.prototype;
  for (const to of [{ suffix: ".s" }, INDEX_7]) {
    await inTempDir(async (folder) => {
      const source = await createSource(`${folder}/source`, RAW);
      const target = new FileSystemStore(`${folder}/target`, { sync: true });
      const long = new Set<number | null>();
      Deno.FsFile.prototype.sync = async function () {
        const { size, ino } = await this.stat();
        if (size > LIMIT) long.add(ino);
        return await sync.call(this);
      };
      try {
        await convert(source, target, to);
      } finally {
        Deno.FsFile.prototype.sync = sync;
      }
      assertEquals(long.size, 3);
    });
  }
});
