import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { fileURLToPath } from "node:url";
import { FileSystemStore } from "../../mod.ts";
import {
  bytesOf,
  CHUNK,
  createInParts,
  storeInParts,
} from "../serve/serving.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { chooseStandardLibrary } from "../../tools/standard_library.ts";
import { freePort } from "../support/ports.ts";
import { withServer } from "./servers.ts";

const exampleOf = (name: string) =>
  fileURLToPath(import.meta.resolve(`../../examples/${name}`));

/** Reads the array `dem` as clients do that know neither `suffix` nor parts. */
async function assertServed(url: string): Promise<void> {
  const document = await (await fetch(`${url}/dem/zarr.json`)).json();
  assertEquals(document.chunk_key_encoding.name, "default");
  assertEquals(await bytesOf(await fetch(`${url}/dem/c/2/1`)), CHUNK);
  const headers = { range: "bytes=-40" };
  const range = await fetch(`${url}/dem/c/2/1`, { headers });
  assertEquals(range.status, 206);
  assertEquals(await bytesOf(range), CHUNK.slice(-40));
  const absent = await fetch(`${url}/dem/c/0/0`);
  assertEquals(absent.status, 404);
  await absent.body?.cancel();
}

/** Runs a test with `examples/deploy.ts`, which may use the network and the variables. */
async function withDeployment(
  env: Record<string, string>,
  test: (url: string) => Promise<void>,
): Promise<void> {
  const port = freePort();
  const flags = ["--allow-net", "--allow-env", "--no-prompt"];
  const address = ["--host", "127.0.0.1", "--port", `${port}`];
  const args = ["serve", ...flags, ...address, exampleOf("deploy.ts")];
  await withServer(args, port, env, test);
}

Deno.test("examples/deploy.ts serves the arrays at a URL, with --allow-net and --allow-env alone", async () => {
  const backing = serve(storeHandler(await storeInParts()));
  try {
    await withDeployment(
      { STORE_URL: backing.url },
      async (url) => {
        await assertServed(url);
        const { headers } = await fetch(`${url}/dem/c/2/1`, { method: "HEAD" });
        assertEquals(
          headers.get("cache-control"),
          "public, max-age=60, no-transform",
        );
      },
    );
  } finally {
    await backing.close();
  }
});

Deno.test("examples/deploy.ts serves the arrays in a bucket, and signs its requests", async () => {
  const below = storeHandler(await storeInParts());
  const signatures: (string | null)[] = [];
  // A service that has the bucket in the path, and does not check signatures.
  const service = serve((request) => {
    signatures.push(request.headers.get("authorization"));
    const url = request.url.replace("/bucket/data/", "/");
    return below(new Request(url, request));
  });
  try {
    await withDeployment(
      {
        STORE_URL: "s3://bucket/data",
        AWS_ENDPOINT_URL: service.url,
        AWS_REGION: "eu-central-1",
        AWS_ACCESS_KEY_ID: "name",
        AWS_SECRET_ACCESS_KEY: "secret",
      },
      assertServed,
    );
    assert(signatures.length > 0);
    for (const signature of signatures) {
      assertMatch(
        signature!,
        /^AWS4-HMAC-SHA256 Credential=name\/\d{8}\/eu-central-1\/s3\//,
      );
    }
  } finally {
    await service.close();
  }
});

Deno.test("examples/deploy.ts says which variable it lacks", async () => {
  const { run } = await chooseStandardLibrary();
  const flags = ["--allow-net", "--allow-env", "--no-prompt"];
  const { code, output } = await run(
    ["serve", ...flags, "--port", "0", exampleOf("deploy.ts")],
    { output: "piped" },
  );
  assertEquals(code, 1);
  assertStringIncludes(output, "environment variable STORE_URL");
});

Deno.test("examples/local.ts serves the arrays in a folder that it may read", async () => {
  await inTempDir(async (folder) => {
    await createInParts(new FileSystemStore(folder));
    const port = freePort();
    const flags = [`--allow-read=${folder}`, "--allow-net", "--no-prompt"];
    await withServer(
      ["run", ...flags, exampleOf("local.ts"), folder, `${port}`],
      port,
      {},
      assertServed,
    );
  });
});
