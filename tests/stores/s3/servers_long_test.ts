import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { recover, type StoreKey, UnfinishedWriteError } from "../../../mod.ts";
import { S3Store, type S3StoreOptions } from "../../../s3.ts";
import { openBucket } from "../../../src/stores/s3/bucket.ts";
import { listObjects } from "../../../src/stores/s3/objects.ts";
import { runCliIn } from "../../cli/run_cli.ts";
import { countingBytes } from "../../support/bytes.ts";
import { testWith } from "../../support/tools.ts";
import { conform } from "../conformance.ts";
import { listed, streamOf } from "../store_values.ts";
import { inTempDir } from "../temp_dir.ts";
import { Chunk } from "./chunk.ts";
import { BUCKET_PROGRAMS, type BucketProgram } from "./servers.ts";

const MIB = 2 ** 20;

for (const program of BUCKET_PROGRAMS) {
  test(program, "passes the conformance tests", passConformance);
  test(program, "signs keys with any characters", signKeys);
  test(program, "stores streams in pieces", storePieces);
  test(program, "replaces chunks of several objects together", replaceChunks);
  test(program, "stores chunks of long objects", storeLong);
  test(program, "gives the command line arrays", copyByCommandLine);
}

type Task = (
  options: Options,
  program: BucketProgram,
  t: Deno.TestContext,
) => Promise<void>;
type Options = S3StoreOptions & { readonly endpoint: string };

function test(program: BucketProgram, what: string, task: Task): void {
  testWith(program.tool, `S3Store of ${program.name} ${what}`, async (_, t) => {
    const { options, close } = await program.start();
    try {
      await task(options, program, t);
    } finally {
      await close();
    }
  });
}

async function passConformance(
  options: Options,
  { deletesChunks }: BucketProgram,
  t: Deno.TestContext,
): Promise<void> {
  let stores = 0;
  const open = () => {
    const store = new S3Store(`s3://bucket/${stores++}.zarr`, options);
    const fill = (key: StoreKey, bytes: Uint8Array) => store.set(key, bytes);
    return Promise.resolve({ store, fill });
  };
  await conform(t, open, { hasWriter: true, deletesTogether: deletesChunks });
}

async function signKeys(
  options: Options,
  { checksSignatures }: BucketProgram,
): Promise<void> {
  const store = new S3Store("s3://bucket/a b+c", options);
  const keys: StoreKey[] = [
    "/c/0 0",
    "/c/0+0",
    "/c/0%20",
    "/c/0%2B",
    "/é/ü😀",
    "/!'()*~-_.",
    "/a=b&c,d;e:f@g$h",
    "/[x]{y}|^`",
    '/"<>"',
    "/#?",
  ];
  for (const key of keys) await store.set(key, new TextEncoder().encode(key));
  for (const key of keys) {
    assertEquals(new TextDecoder().decode(await store.get(key)), key);
    assertEquals(await listed(store, key), [key]);
  }
  assertEquals(await listed(store), keys.toSorted());
  for (const key of keys) await store.delete(key);
  assertEquals(await listed(store), []);
  if (!checksSignatures) return;
  const wrong = new S3Store("s3://bucket", {
    ...options,
    credentials: { accessKeyId: "testkey", secretAccessKey: "wrong" },
  });
  await assertRejects(
    () => wrong.get("/k"),
    Error,
    "found 403 Forbidden (SignatureDoesNotMatch",
  );
  const unsigned = new S3Store("s3://bucket", {
    endpoint: options.endpoint!,
  });
  await assertRejects(() => unsigned.get("/k"), Error, "found 403");
}

async function storePieces(options: Options): Promise<void> {
  const pieceSize = 5 * MIB;
  const store = new S3Store("s3://bucket", { ...options, pieceSize });
  const value = countingBytes(12 * MIB);
  await store.set("/k", streamOf(value.subarray(0, 7), value.subarray(7)));
  assertEquals(await store.get("/k"), value);
  assertEquals(
    await store.getRange("/k", { offset: 5 * MIB - 1, length: 2 }),
    value.subarray(5 * MIB - 1, 5 * MIB + 1),
  );
}

async function replaceChunks(
  options: Options,
  { deletesChunks }: BucketProgram,
): Promise<void> {
  const open = () => new Chunk(new S3Store("s3://bucket/x", options));
  const chunk = open();
  await chunk.write(0);
  let isWriting = true;
  const writing = (async () => {
    const [one, other] = [open(), open()];
    for (let number = 1; number < 12; number += 2) {
      await Promise.all([
        one.write(number),
        other.write(number + 1, () => {}),
      ]);
    }
    await Promise.all([one, other, chunk].map(async (each) => {
      for (let i = 0; i < 4; i++) await each.update((number) => number! + 100);
    }));
    isWriting = false;
  })();
  let reads = 0;
  do {
    try {
      await chunk.read();
      reads++;
    } catch (error) {
      if (!(error instanceof UnfinishedWriteError)) throw error;
    }
  } while (isWriting);
  await writing;
  const last = (await chunk.read())!;
  assertEquals([last > 1200 && last <= 1212, reads > 0], [true, true]);
  assertEquals(await listed(chunk.store), [...chunk.keys]);
  assertEquals((await recover(chunk.store)).written, []);
  if (deletesChunks) {
    await chunk.delete();
    assertEquals(await listed(chunk.store), []);
  } else await assertRejects(() => chunk.delete(), TypeError, "If-Match");
}

async function storeLong(options: Options): Promise<void> {
  const pieceSize = 5 * MIB;
  const store = new S3Store("s3://bucket/x y", { ...options, pieceSize });
  const chunk = new Chunk(store, undefined, "/c/0 0", 6 * MIB);
  for (let number = 1; number <= 2; number++) {
    await chunk.write(number, () => {});
    assertEquals(await chunk.read(), number);
  }
  const bucket = openBucket("s3://bucket", options);
  const objects = await Array.fromAsync(listObjects(bucket, "/", {}));
  const others = objects.filter(({ key }) => !key.includes("-journal-"));
  assertEquals(others.length, 2);
}

async function copyByCommandLine(options: Options): Promise<void> {
  const env = {
    AWS_ACCESS_KEY_ID: "testkey",
    AWS_SECRET_ACCESS_KEY: "testsecret",
    AWS_ENDPOINT_URL: String(options.endpoint),
  };
  const fixture = fileURLToPath(
    import.meta.resolve("../../fixtures/dem.zarr"),
  );
  await inTempDir(async (folder) => {
    const back = `${folder}/back.zarr`;
    for (
      const [command, out] of [
        [
          ["convert", fixture, "s3://bucket/x", "--parts", ",.index"],
          "copied to s3://bucket/x",
        ],
        [["verify", "s3://bucket/x"], "12 chunks verified, nothing found"],
        [["convert", "s3://bucket/x", back, "--plain"], "copied to"],
      ] as const
    ) {
      const result = await runCliIn(env, ...command);
      assertStringIncludes(result.out + result.err, out);
      assertEquals(result.code, 0);
    }
    for (const key of ["c/0/0", "c/2/3"]) {
      assertEquals(
        await Deno.readFile(`${back}/${key}`),
        await Deno.readFile(`${fixture}/${key}`),
      );
    }
  });
}
