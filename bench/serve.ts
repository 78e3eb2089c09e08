/** Serves chunks beside a minimal server of files and nginx: `deno task bench serve` */
import { arrayMetadata, createArrayChunks, FileSystemStore } from "../mod.ts";
import { freePort } from "../tests/support/ports.ts";
import { findOnPath } from "../tests/support/tools.ts";
import { denoWithStandIns } from "../tools/standard_library.ts";
import { MIB, randomBytes } from "./bytes.ts";
import type { Report } from "./comparison.ts";
import type { Options } from "./options.ts";
import type { Table } from "./table.ts";

const CHUNKS = 64;
const RANGE = 16 * 1024;
/** The connections of `wrk`. */
const CONNECTIONS = 16;
const ROUNDS = 5;

/** A server that is measured. */
interface Contestant {
  readonly name: string;
  readonly port: number;
  /** Its process, if it is one of Deno. */
  readonly stop: () => Promise<void>;
}

/** A measurement by `wrk`. */
interface Measured {
  readonly requests: number;
  readonly mebibytes: number;
  readonly errors: number;
}

/** Whole chunks of 1 MiB and ranges of 16 KiB of them, from parts in files that are in the page cache. */
export async function benchServe(options: Options): Promise<Report> {
  const wrk = await findOnPath(["wrk"]);
  if (wrk === undefined) {
    const note = "Not measured: no wrk found on PATH (apt-get install wrk).";
    return { comparisons: [], note };
  }
  const folder = await Deno.makeTempDir({ prefix: "zarr-parts-bench-" });
  const contestants: Contestant[] = [];
  try {
    await store(folder);
    const script = `${folder}/requests.lua`;
    await Deno.writeTextFile(script, LUA);
    contestants.push(await startDeno("handler", folder));
    contestants.push(await startDeno("plain", folder));
    const nginx = await findOnPath(["nginx"]);
    if (nginx !== undefined) contestants.push(await startNginx(nginx, folder));
    const rows: string[][] = [];
    for (const isRange of [false, true]) {
      rows.push(...await measure(wrk, script, contestants, isRange, options));
    }
    const table: Table = {
      title: "Requests per second, medians of rounds that take turns",
      labels: 2,
      head: [
        "asked for",
        "server",
        "requests/s",
        "MiB/s",
        "of the plain server",
        "errors",
      ],
      rows,
    };
    return {
      comparisons: [],
      tables: [table],
      note:
        `${CHUNKS} chunks in two parts, ${CONNECTIONS} connections of wrk on the same machine. The plain server is that of bench/serve_program.ts. Load average: ${
          Deno.loadavg()[0]!.toFixed(2)
        } on ${navigator.hardwareConcurrency} cores.`,
    };
  } finally {
    for (const { stop } of contestants) await stop();
    await Deno.remove(folder, { recursive: true });
  }
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

/** Measures all contestants in turn, and returns a row for each. */
async function measure(
  wrk: string,
  script: string,
  contestants: readonly Contestant[],
  isRange: boolean,
  { quick, seconds }: Options,
): Promise<string[][]> {
  const results = new Map<Contestant, Measured[]>();
  for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
    for (const contestant of contestants) {
      const measured = await runWrk(
        wrk,
        script,
        contestant.port,
        isRange,
        quick ? 1 : seconds,
      );
      results.set(contestant, [...results.get(contestant) ?? [], measured]);
    }
  }
  const medians = contestants.map((each) => medianOf(results.get(each)!));
  const plain = medians[1]!.requests;
  return contestants.map(({ name }, i) => {
    const { requests, mebibytes, errors } = medians[i]!;
    return [
      isRange ? "16 KiB of a chunk" : "chunk of 1 MiB",
      name,
      requests.toFixed(0),
      mebibytes.toFixed(0),
      (requests / plain).toFixed(2),
      `${errors}`,
    ];
  });
}

function medianOf(measured: readonly Measured[]): Measured {
  const sorted = measured.toSorted((a, b) => a.requests - b.requests);
  const errors = measured.reduce((sum, { errors }) => sum + errors, 0);
  return { ...sorted[Math.floor(sorted.length / 2)]!, errors };
}

/** The requests of `wrk`, to one chunk after another. */
const LUA = `
local n = 0
request = function()
  n = n + 1
  if os.getenv("RANGE") then
    local first = (n * 7919 % 60) * ${RANGE}
    wrk.headers["Range"] = "bytes=" .. first .. "-" .. (first + ${RANGE - 1})
  end
  return wrk.format("GET", "/c/" .. (n * 13 % ${CHUNKS}))
end
done = function(summary)
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %d %d\\n", summary.requests,
    summary.duration, summary.bytes, errors.connect + errors.read +
    errors.write + errors.status + errors.timeout))
end
`;

async function runWrk(
  wrk: string,
  script: string,
  port: number,
  isRange: boolean,
  seconds: number,
): Promise<Measured> {
  const { stdout } = await new Deno.Command(wrk, {
    args: [
      "-t1",
      `-c${CONNECTIONS}`,
      `-d${Math.ceil(seconds)}s`,
      "-s",
      script,
      `http://127.0.0.1:${port}`,
    ],
    env: isRange ? { RANGE: "1" } : {},
    stderr: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  const [, requests, microseconds, bytes, errors] =
    /RESULT (\d+) (\d+) (\d+) (\d+)/.exec(text)!.map(Number);
  const duration = microseconds! / 1e6;
  return {
    requests: requests! / duration,
    mebibytes: bytes! / MIB / duration,
    errors: errors!,
  };
}

async function startDeno(
  kind: "handler" | "plain",
  folder: string,
): Promise<Contestant> {
  const port = freePort();
  const program = new URL("serve_program.ts", import.meta.url).pathname;
  const root = `${folder}/${kind === "plain" ? "plain" : "parts"}`;
  const ending = new AbortController();
  const serving = denoWithStandIns(
    ["run", "-A", program, kind, root, `${port}`],
    { output: "piped", signal: ending.signal },
  );
  await answered(port);
  return {
    name: kind === "plain" ? "Deno.serve of files" : "createHandler",
    port,
    async stop() {
      ending.abort();
      await serving;
    },
  };
}

async function startNginx(path: string, folder: string): Promise<Contestant> {
  const port = freePort();
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`);
  await Deno.writeTextFile(
    `${folder}/nginx.conf`,
    `daemon off; master_process off; pid ${folder}/pid;
     error_log ${folder}/error.log;
     events {}
     http {
       access_log off; sendfile on;
       ${temporary.join(" ")}
       server { listen 127.0.0.1:${port}; root ${folder}/plain; }
     }`,
  );
  const child = new Deno.Command(path, {
    args: ["-p", folder, "-c", `${folder}/nginx.conf`],
    stdout: "null",
    stderr: "null",
  }).spawn();
  await answered(port);
  return {
    name: "nginx",
    port,
    async stop() {
      child.kill();
      await child.status;
    },
  };
}

/** Waits until a server answers. */
async function answered(port: number): Promise<void> {
  for (;;) {
    try {
      const response = await fetch(`http://127.0.0.1:${port}/c/0`);
      return await response.body?.cancel();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
