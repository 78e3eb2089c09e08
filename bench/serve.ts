/** Serves chunks beside a minimal server of files and nginx: `deno task bench serve` */
import { arrayMetadata, createArrayChunks, FileSystemStore } from "../mod.ts";
import { NGINX, NginxServer } from "../tests/stores/nginx.ts";
import { freePort } from "../tests/support/ports.ts";
import { findOnPath } from "../tests/support/tools.ts";
import { denoWithStandIns } from "../tools/standard_library.ts";
import { KIB, MIB, randomBytes } from "./data.ts";
import { command, loadText } from "./folders.ts";
import type { Timing } from "./measure.ts";
import type { Options } from "./options.ts";
import type { Report, Row, Unit } from "./report.ts";

const CHUNKS = 64;
const RANGE = 16 * KIB;
/** The connections of `wrk`. */
const CONNECTIONS = 16;
const ROUNDS = 5;
const HANDLER = "createHandler";
const PLAIN = "Deno.serve of files";
const REQUESTS: Unit = { name: "requests/s", factor: 1e3 };

/** Whole chunks of 1 MiB and ranges of 16 KiB of them, from parts in files that are in the page cache. */
export async function benchServe(
  { quick, seconds }: Options,
): Promise<Report> {
  if (await findOnPath(["wrk"]) === undefined) {
    return {
      note: "Not measured: no wrk found on PATH (apt-get install wrk).",
    };
  }
  await using used = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir({ prefix: "zarr-parts-bench-" });
  used.defer(() => Deno.remove(folder, { recursive: true }));
  await store(folder);
  const servers: Record<string, string> = {
    [HANDLER]: await startDeno("handler", `${folder}/parts`, used),
    [PLAIN]: await startDeno("plain", `${folder}/plain`, used),
  };
  if ("path" in NGINX) {
    const root = `${folder}/plain`;
    const nginx = await NginxServer.start(NGINX.path, root, folder);
    servers["nginx"] = used.use(nginx).url;
  }
  const script = `${folder}/requests.lua`;
  const rows: Row[] = [];
  for (const isRange of [false, true]) {
    await Deno.writeTextFile(script, requestsOf(isRange));
    const timings: Timing[] = Object.keys(servers)
      .map((name) => ({ name, amount: 1, times: [] }));
    for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
      for (const [i, url] of Object.values(servers).entries()) {
        const time = await timeOfRequest(url, script, quick ? 1 : seconds);
        (timings[i]!.times as number[]).push(time);
      }
    }
    rows.push({
      labels: [isRange ? "16 KiB of a chunk" : "chunk of 1 MiB"],
      timings,
      goals: [{ of: HANDLER, against: [PLAIN], bound: 0.5 }],
    });
  }
  return {
    comparisons: [{
      title: "Serving chunks",
      heads: ["Asked for"],
      unit: REQUESTS,
      rows,
    }],
    note:
      `${CHUNKS} chunks in two parts, ${CONNECTIONS} connections of wrk on the same machine. The plain server is that of bench/serve_program.ts. ${loadText()}`,
  };
}

/** Stores the same chunks in parts and as files. */
async function store(folder: string): Promise<void> {
  const metadata = arrayMetadata({
    shape: [CHUNKS * MIB],
    dataType: "uint8",
    chunkShape: [MIB],
    codecs: ["crc32c"],
    suffix: ".bin",
    parts: ["", ".crc32c"],
  });
  const parts = new FileSystemStore(`${folder}/parts`);
  const chunks = await createArrayChunks(parts, "", metadata);
  await Deno.mkdir(`${folder}/plain/c`, { recursive: true });
  const bytes = randomBytes(MIB + 4);
  for (let i = 0; i < CHUNKS; i++) {
    await chunks.set([i], bytes);
    await Deno.writeFile(`${folder}/plain/c/${i}`, bytes);
  }
  // Versions of files that are younger than two seconds are not kept.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
}

/** The requests of `wrk`, to one chunk after another. */
function requestsOf(isRange: boolean): string {
  const range = `
    local first = (n * 7919 % 60) * ${RANGE}
    wrk.headers["Range"] = "bytes=" .. first .. "-" .. (first + ${RANGE - 1})`;
  return `
local n = 0
request = function()
  n = n + 1${isRange ? range : ""}
  return wrk.format("GET", "/c/" .. (n * 13 % ${CHUNKS}))
end
done = function(summary)
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %d\\n", summary.requests,
    summary.duration, errors.connect + errors.read + errors.write +
    errors.status + errors.timeout))
end
`;
}

/** The time in milliseconds that a request takes a server with all its connections. */
async function timeOfRequest(
  url: string,
  script: string,
  seconds: number,
): Promise<number> {
  const duration = `-d${Math.ceil(seconds)}s`;
  const output = await command(
    "wrk",
    ["-t1", `-c${CONNECTIONS}`, duration, "-s", script, url],
  );
  const [, requests, microseconds, errors] = /RESULT (\d+) (\d+) (\d+)/.exec(
    output,
  )!.map(Number);
  if (errors! > 0) throw new Error(`${errors} requests to ${url} failed`);
  return microseconds! / 1e3 / requests!;
}

/** Starts a server of Deno in a process of its own, and returns its URL. */
async function startDeno(
  kind: "handler" | "plain",
  root: string,
  used: AsyncDisposableStack,
): Promise<string> {
  const port = freePort();
  const program = new URL("serve_program.ts", import.meta.url).pathname;
  const ending = new AbortController();
  const serving = denoWithStandIns(
    ["run", "-A", program, kind, root, `${port}`],
    { output: "piped", signal: ending.signal },
  );
  used.defer(async () => {
    ending.abort();
    await serving;
  });
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    try {
      await (await fetch(`${url}/c/0`)).body?.cancel();
      return url;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50)); // Not listening yet.
    }
  }
}
