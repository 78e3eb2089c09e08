import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { FileSystemStore } from "../../mod.ts";
import { bytesOf, CHUNK, createInParts } from "../serve/serving.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { freePort } from "../support/ports.ts";
import { cliCommand, runCli } from "./run_cli.ts";

/** A running `zarr-parts serve`. */
interface Running {
  /** With a `/` at its end. */
  readonly url: string;
  /** The lines that it prints. */
  readonly lines: AsyncIterator<string>;
  /** Stops the server as Ctrl-C does, and returns its exit status and standard error. */
  stop(): Promise<{ code: number; err: string }>;
}

/**
 * Runs a test with `zarr-parts serve` on a folder with the array `dem`.
 *
 * @param place What is served in place of the folder.
 */
async function withServing(
  options: readonly string[],
  test: (running: Running, folder: string) => Promise<void>,
  place?: string,
): Promise<void> {
  await inTempDir(async (folder) => {
    await createInParts(new FileSystemStore(folder));
    const args = ["serve", place ?? folder, "--port=0", ...options];
    const [program, ...rest] = cliCommand(args);
    const child = new Deno.Command(program!, {
      args: rest,
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const lines = linesOf(child.stdout);
    const { value: first } = await lines.next();
    const url = /http:[^"\s]*/.exec(first!)![0];
    const stop = async () => {
      child.kill("SIGINT");
      const [{ code }, err] = await Promise.all([
        child.status,
        child.stderr.text(),
      ]);
      while (!(await lines.next()).done);
      return { code, err };
    };
    let isStopped = false;
    await test({
      url,
      lines,
      stop: () => {
        isStopped = true;
        return stop();
      },
    }, folder);
    if (!isStopped) await stop();
  });
}

async function* linesOf(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<string, undefined> {
  let rest = "";
  for await (
    const text of stream.pipeThrough(new TextDecoderStream() as never)
  ) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}

Deno.test("serve answers requests, prints a line for each, and stops at Ctrl-C", async () => {
  await withServing([], async ({ url, lines, stop }) => {
    assertEquals(await bytesOf(await fetch(`${url}dem/c/2/1`)), CHUNK);
    assertMatch(
      (await lines.next()).value!,
      /^GET \/dem\/c\/2\/1 200 1000 bytes \d+\.\d ms$/,
    );
    const headers = { range: "bytes=0-9" };
    await bytesOf(await fetch(`${url}dem/c/2/1`, { headers }));
    assertMatch(
      (await lines.next()).value!,
      /^GET \/dem\/c\/2\/1 bytes=0-9 206 10 bytes \d+\.\d ms$/,
    );
    const page = await fetch(url, { headers: { accept: "text/html" } });
    assertEquals(page.status, 200);
    const { length } = await bytesOf(page);
    assertStringIncludes((await lines.next()).value!, ` 200 ${length} bytes `);
    const script = await bytesOf(await fetch(`${url}__page__/script.js`));
    const line = (await lines.next()).value!;
    assertStringIncludes(line, ` 200 ${script.length} bytes `);
    await fetch(`${url}dem/c/2/1`, { method: "HEAD" });
    assertMatch((await lines.next()).value!, /^HEAD .* 200 0 bytes /);
    assertEquals(await stop(), { code: 0, err: "" });
  });
});

Deno.test("serve prints JSON, and serves stored values below a mount", async () => {
  const options = ["--json", "--stored", "--mount=/data"];
  await withServing(options, async ({ url, lines }) => {
    assertMatch(url, /^http:\/\/127\.0\.0\.1:\d+\/data\/$/);
    const document = await (await fetch(`${url}dem/zarr.json`)).json();
    assertEquals(document.chunk_key_encoding.name, "suffix");
    const { milliseconds, ...rest } = JSON.parse((await lines.next()).value!);
    assertEquals(typeof milliseconds, "number");
    assertEquals(rest, {
      method: "GET",
      path: "/data/dem/zarr.json",
      status: 200,
      bytes: Number(rest.bytes),
      isComplete: true,
    });
  });
});

Deno.test("serve tells failures on standard error", async () => {
  await withServing([], async ({ url, stop }, folder) => {
    await Deno.remove(`${folder}/dem/c/2/1.shard.index`);
    const response = await fetch(`${url}dem/c/2/1`);
    assertEquals(response.status, 502);
    assertEquals((await response.text()).includes(folder), false);
    const { err } = await stop();
    assertStringIncludes(err, "zarr-parts: GET /dem/c/2/1: MissingPartError");
  });
});

Deno.test("serve prints nothing with --quiet", async () => {
  const port = freePort();
  const place = "tests/fixtures/dem.zarr";
  const [program, ...args] = cliCommand([
    "serve",
    place,
    `--port=${port}`,
    "--quiet",
  ]);
  const child = new Deno.Command(program!, { args, stdout: "piped" }).spawn();
  const asked = () => fetch(`http://127.0.0.1:${port}/zarr.json`);
  let response: Response | undefined;
  while (response === undefined) {
    response = await asked().catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await response.body?.cancel();
  child.kill("SIGINT");
  assertEquals((await child.output()).stdout.length, 0);
});

Deno.test("serve refuses a port that is in use, and suggests the next free one", async () => {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  try {
    const { code, out, err } = await runCli(
      "serve",
      "tests/fixtures/dem.zarr",
      `--port=${port}`,
    );
    assertEquals([code, out], [2, ""]);
    const found =
      /^zarr-parts: Port (\d+) of 127\.0\.0\.1 is in use; --port=(\d+) is free\n$/
        .exec(err);
    assertEquals(found?.[1], `${port}`, err);
    assertEquals(Number(found![2]) > port, true);
  } finally {
    listener.close();
  }
});

Deno.test("serve refuses wrong usage", async () => {
  const cases: [string[], string][] = [
    [["no-such-folder"], 'found nothing at "no-such-folder"'],
    [["deno.json"], 'found a file at "deno.json"'],
    [["tests", "--port=x"], "Expected --port to be a number from 0 to 65535"],
    [
      ["tests", "--port=65536"],
      "Expected --port to be a number from 0 to 65535",
    ],
    [["tests", "--stored", "--inner-chunks"], "found both"],
    [["tests", "--mount=data"], 'such as "/data", found "data"'],
  ];
  for (const [args, message] of cases) {
    const { code, out, err } = await runCli("serve", ...args);
    assertEquals([code, out], [2, ""], args.join(" "));
    assertStringIncludes(err, message);
  }
  const { code, err } = await runCli("serve", "tests", "--host=192.0.2.1");
  assertEquals(code, 1);
  assertStringIncludes(err, "Cannot listen at port 8000 of 192.0.2.1: ");
});

Deno.test("serve serves web servers and buckets", async () => {
  for (const place of ["http://127.0.0.1:9/data", "s3://bucket/data"]) {
    await withServing(["--json"], async ({ url }) => {
      const response = await fetch(`${url}..%2Fzarr.json`);
      assertEquals(response.status, 400, place);
      await response.body?.cancel();
    }, place);
  }
});
