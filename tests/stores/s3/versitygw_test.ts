import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { ConcatParts, recover, type StoreKey } from "../../../mod.ts";
import { S3Store } from "../../../src/s3/mod.ts";
import { runCliIn } from "../../cli/run_cli.ts";
import { countingBytes } from "../../support/bytes.ts";
import { findOnPath, testWith, type Tool } from "../../support/tools.ts";
import { testStore } from "../conformance.ts";
import { inTempDir } from "../temp_dir.ts";
import { listed, streamOf } from "../store_values.ts";
import { startVersitygw } from "./versitygw.ts";

const VERSITYGW = await findVersitygw();

async function findVersitygw(): Promise<Tool> {
  const path = await findOnPath(["versitygw"]);
  return path === undefined
    ? {
      missing:
        "no versitygw found on PATH; install it (go install github.com/versity/versitygw/cmd/versitygw@v1.8.0)",
    }
    : { path };
}

const MIB = 2 ** 20;

const PARTS = new ConcatParts([{ keySuffix: "" }, {
  keySuffix: ".index",
  size: 2,
}]);

if (!("missing" in VERSITYGW)) {
  testStore("S3Store of versitygw", async () => {
    const server = await startVersitygw(VERSITYGW.path);
    const store = new S3Store("s3://bucket/x.zarr", server.options);
    return {
      store,
      fill: (key, bytes) => store.set(key, bytes),
      close: server.close,
    };
  });
}

testWith(
  VERSITYGW,
  "S3Store signs keys with any characters as versitygw checks them",
  async (path) => {
    const { options, close } = await startVersitygw(path);
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
    const wrong = new S3Store("s3://bucket", {
      ...options,
      credentials: { accessKeyId: "key", secretAccessKey: "wrong" },
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
    await close();
  },
);

testWith(
  VERSITYGW,
  "S3Store stores streams in pieces in versitygw",
  async (path) => {
    const { options, close } = await startVersitygw(path);
    const pieceSize = 5 * MIB;
    const store = new S3Store("s3://bucket", { ...options, pieceSize });
    const value = countingBytes(12 * MIB);
    await store.set("/k", streamOf(value.subarray(0, 7), value.subarray(7)));
    assertEquals(await store.get("/k"), value);
    assertEquals(
      await store.getRange("/k", { offset: 5 * MIB - 1, length: 2 }),
      value.subarray(5 * MIB - 1, 5 * MIB + 1),
    );
    await close();
  },
);

testWith(
  VERSITYGW,
  "S3Store replaces chunks of several objects together in versitygw",
  async (path) => {
    const { options, close } = await startVersitygw(path);
    const stores = [1, 2, 3].map(() =>
      PARTS.apply(new S3Store("s3://bucket/x", options))
    );
    const chunkOf = (write: number) => new Uint8Array(500 + write).fill(write);
    await stores[0]!.set("/c/0", chunkOf(0));
    let isWriting = true;
    let last = 0;
    const writer = (async () => {
      for (let write = 1; write < 12; write += 2) {
        await Promise.all([
          stores[0]!.set("/c/0", chunkOf(write)),
          stores[1]!.set("/c/0", chunkOf(write + 1)),
        ]);
        last = write + 1;
      }
      isWriting = false;
    })();
    let reads = 0;
    do {
      try {
        const chunk = (await stores[2]!.get("/c/0"))!;
        assertEquals(chunk, chunkOf(chunk[0]!));
        reads++;
      } catch (error) {
        if ((error as Error).name !== "UnfinishedWriteError") throw error;
      }
    } while (isWriting);
    await writer;
    const chunk = (await stores[2]!.get("/c/0"))!;
    assertEquals(last - chunk[0]! <= 1 && reads > 0, true);
    const store = new S3Store("s3://bucket/x", options);
    assertEquals(await listed(store), ["/c/0", "/c/0.index"]);
    assertEquals((await recover(store)).written, []);
    await stores[0]!.delete("/c/0");
    assertEquals(await listed(store), []);
    await close();
  },
);

testWith(
  VERSITYGW,
  "the command line copies arrays to versitygw and back",
  async (path) => {
    const { options, close } = await startVersitygw(path);
    const env = {
      AWS_ACCESS_KEY_ID: "key",
      AWS_SECRET_ACCESS_KEY: "secret",
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
    await close();
  },
);
