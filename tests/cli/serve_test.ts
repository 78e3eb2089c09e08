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
  /** The lines that it prints. Returning ends the reading, as `head -1` does. */
  readonly lines: AsyncGenerator<string>;
  /** Stops the server as Ctrl-C does, or by another signal, and returns its exit status and standard error. */
  stop(signal?: Deno.Signal): Promise<{ code: number; err: string }>;
}

/**
 * Runs a test with `zarr-parts serve` on a folder with the array `dem`.
 *
 * @param place What is served in place of the folder.
 * @param mostFiles How many files the server may open at the same time.
 */
async function withServing(
  options: readonly string[],
  test: (running: Running, folder: string) => Promise<void>,
  place?: string,
  mostFiles?: number,
): Promise<void> {
  await inTempDir(async (folder) => {
    await createInParts(new FileSystemStore(folder));
    const args = ["serve", place ?? folder, "--port=0", ...options];
    const limit = `ulimit -n ${mostFiles}; exec "$@"`;
    const [program, ...rest] = mostFiles === undefined
      ? cliCommand(args)
      : ["sh", "-c", limit, "sh", ...cliCommand(args)];
    const child = new Deno.Command(program!, {
      args: rest,
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const lines = linesOf(child.stdout);
    const { value: first } = await lines.next();
    const url = /http:[^"\s]*/.exec(first!)![0];
    const stop = async (signal: Deno.Signal = "SIGINT") => {
      child.kill(signal);
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
      stop: (signal) => {
        isStopped = true;
        return stop(signal);
      },
    }, folder);
    if (!isStopped) await stop();
  });
}

async function* linesOf(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<string, undefined, undefined> {
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

Deno.test("serve stops at SIGTERM as at Ctrl-C", async () => {
  await withServing([], async ({ stop }) => {
    assertEquals(await stop("SIGTERM"), { code: 0, err: "" });
  });
});

Deno.test("serve goes on when nobody reads its lines any more", async () => {
  for (const options of [[], ["--json"]]) {
    await withServing(options, async ({ url, lines, stop }) => {
      await lines.return(undefined);
      for (let i = 0; i < 5; i++) {
        assertEquals(await bytesOf(await fetch(`${url}dem/c/2/1`)), CHUNK);
      }
      const { code, err } = await stop();
      assertEquals(code, 0);
      assertMatch(err, /^zarr-parts: Nobody reads standard output.*\n$/);
    });
  }
});

Deno.test("serve outlives more connections than it may open files", async () => {
  await withServing(
    [],
    async ({ url, stop }) => {
      const { hostname, port } = new URL(url);
      const address = { hostname, port: Number(port) };
      const connections: Deno.Conn[] = [];
      for (let i = 0; i < 200; i++) {
        const connection = await Deno.connect(address).catch(() => undefined);
        if (connection !== undefined) connections.push(connection);
      }
      for (const connection of connections) connection.close();
      for (let tries = 0;; tries++) {
        const bytes = await fetch(`${url}dem/c/2/1`).then(bytesOf)
          .catch(() => undefined);
        if (bytes?.length === CHUNK.length) break;
        if (tries === 100) throw new Error("The server does not answer");
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      const { code, err } = await stop();
      assertEquals(code, 0);
      assertMatch(err, /Cannot accept connections, trying again: .*open files/);
      assertEquals(err.includes("    at "), false);
    },
    undefined,
    40,
  );
});

Deno.test("serve names no path of the machine, in pages neither", async () => {
  await withServing([], async ({ url, stop }, folder) => {
    await Deno.writeTextFile(`${folder}/x.json`, "");
    await Deno.mkdir(`${folder}/bad`);
    await Deno.writeTextFile(`${folder}/bad/zarr.json`, "{");
    await Deno.remove(`${folder}/dem/c/2/1.shard.index`);
    await Deno.symlink("/etc", `${folder}/out`);
    const paths = [
      "",
      "dem",
      "bad",
      "bad/zarr.json",
      "dem/c/2/1",
      "out/hostname",
    ];
    const odd = ["x.json/zarr.json", "x.json/c/0", "%00", "a%2fb", "//", "%ff"];
    for (const path of [...paths, ...odd, "__page__/%ff.js", "none"]) {
      for (const accept of ["text/html", "*/*"]) {
        const response = await fetch(url + path, { headers: { accept } });
        const text = JSON.stringify([...response.headers]) +
          await response.text();
        const [name] = folder.split("/").slice(-1);
        // The title of the pages is the name of the folder.
        const told = accept === "text/html"
          ? text.replaceAll(`>${name}`, "")
          : text;
        assertEquals(told.includes(folder), false, path);
        assertEquals(told.includes("/etc"), false, path);
        assertEquals(response.status === 500, false, path);
      }
    }
    const { err } = await stop();
    assertStringIncludes(err, folder);
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

Deno.test("serve refuses a port that is in use", async () => {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  try {
    const { code, out, err } = await runCli(
      "serve",
      "tests/fixtures/dem.zarr",
      `--port=${port}`,
    );
    assertEquals([code, out], [2, ""]);
    assertEquals(
      err,
      `zarr-parts: Port ${port} of 127.0.0.1 is in use; --port=0 takes a free one\n`,
    );
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
