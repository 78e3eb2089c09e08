import { fileURLToPath } from "node:url";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { FileSystemStore } from "../../mod.ts";
import { createHandler, type HandlerOptions } from "../../serve.ts";
import { serve } from "../stores/loopback.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { runOptions } from "../support/deno_program.ts";
import { CHUNK, createInParts } from "./serving.ts";

/** How long an answer may take in milliseconds before it counts as a hang. */
const LONGEST_ANSWER = 20_000;
const SECRET = "top secret";

/** Runs a test with a server of a folder that lies beside a file that is not served. */
async function withFolder(
  options: HandlerOptions,
  test: (
    server: { port: number; errors: unknown[]; store: FileSystemStore },
  ) => Promise<void>,
): Promise<void> {
  await inTempDir(async (folder) => {
    await Deno.writeTextFile(`${folder}/secret`, SECRET);
    const store = new FileSystemStore(`${folder}/root`);
    await createInParts(store);
    const errors: unknown[] = [];
    const server = serve(createHandler(store, {
      onError: (error) => errors.push(error),
      ...options,
    }));
    try {
      await test({ port: Number(new URL(server.url).port), errors, store });
    } finally {
      await server.close();
    }
  });
}

/**
 * Sends a text as it is, and returns what the server answers.
 *
 * @param toEnd Whether the server must end the connection.
 */
async function sendRaw(
  port: number,
  text: string,
  toEnd = true,
): Promise<string> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    connection.close();
  }, LONGEST_ANSWER);
  try {
    await connection.write(new TextEncoder().encode(text));
    const answer: Uint8Array[] = [];
    const buffer = new Uint8Array(64 * 1024);
    for (;;) {
      const read = await connection.read(buffer).catch(() => null);
      if (read === null) break;
      answer.push(buffer.slice(0, read));
      if (!toEnd) break;
    }
    assertEquals(isLate, false, `The server hangs after ${text}`);
    return await new Blob(answer as BlobPart[]).text();
  } finally {
    clearTimeout(timer);
    if (!isLate) connection.close();
  }
}

function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? NaN);
}

/** Ways to write the names of folders above, of separators, and other names that no key has. */
const piece = fc.constantFrom(
  ...[
    String
      .raw`.. %2e%2e .%2E %252e%252e ..%00 %c0%ae%c0%ae %ff%fe ..%c0%af ..%5c`,
    String
      .raw`..%2f %2f %5c \ / // %00 %0d%0a % %zz secret root dem c 0 2 1 -1`,
    "1e3 99999999999999999999 zarr.json .zattrs %F0%9F%92%A9 %ED%A0%80 é",
    ".zarr-parts-tmp-journal-1 ? # ; * con ~",
  ].flatMap((line) => line.split(" ")),
  "a".repeat(255),
  "a".repeat(2000),
);
const path = fc.tuple(
  fc.constantFrom("/", "/dem/", "/dem/c/", "/dem/c/2/1", "/../", ""),
  fc.array(piece, { maxLength: 4 }),
  fc.constantFrom("/", ""),
).map(([start, pieces, separator]) => start + pieces.join(separator));

const number = fc.constantFrom(
  ...["", "0", "-1", "999", "1000", "9".repeat(40), "1e9", " 1", "0x10"],
);
const ranges = fc.oneof(
  fc.array(fc.tuple(number, number).map((pair) => pair.join("-")), {
    maxLength: 5,
  }).map((list) => `bytes=${list}`),
  fc.constantFrom(
    `bytes=${new Array(500).fill("0-").join()}`,
    `bytes=${new Array(300).fill(0).map((_, i) => `${i}-${i + 100}`)}`,
    "bytes=-".repeat(50),
    "b".repeat(5000),
    "bytes=0-0;q=1",
  ),
);
const tag = fc.constantFrom(
  ...["*", '"', 'W/"', '"x",'.repeat(1000), "W/*", "é", '""'],
);
const method = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("GET", "HEAD") },
  fc.constantFrom(
    ...["OPTIONS", "POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"],
    ...["get", "X".repeat(100)],
  ),
);
const headers = fc.record({
  "Range": ranges,
  "If-Match": tag,
  "If-None-Match": tag,
  "If-Range": tag,
  "If-Modified-Since": fc.constantFrom("x", "Thu, 99 Foo 0000 00:00:00 GMT"),
  "Accept": fc.constantFrom("text/html", "*/*", ",".repeat(1000)),
  "Origin": fc.constant("null"),
  "Content-Length": fc.constant("0"),
}, { requiredKeys: [] });

Deno.test("createHandler survives thousands of hostile requests, and serves nothing outside of the root", async () => {
  for (
    const options of [{}, { form: "stored" }] as HandlerOptions[]
  ) {
    await withFolder(options, async ({ port, errors }) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(method, path, headers), {
            minLength: 25,
            maxLength: 25,
          }),
          async (requests) => {
            await Promise.all(requests.map(async ([method, path, headers]) => {
              const lines = Object.entries(headers).map(([name, value]) =>
                `${name}: ${value}\r\n`
              );
              const text =
                `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${
                  lines.join("")
                }\r\n`;
              const answer = await sendRaw(port, text);
              const status = statusOf(answer);
              assert(status >= 200 && status < 500, `${text}${answer}`);
              assertEquals(answer.includes(SECRET), false, text);
              assertEquals(/\bat \S+:\d+:\d+/.test(answer), false, answer);
            }));
          },
        ),
        { numRuns: 60 },
      );
      assertEquals(errors, []);
    });
  }
});

Deno.test("createHandler keeps its memory while readers are slow or leave, and stores stall", async () => {
  const program = new URL("leaving_readers_program.ts", import.meta.url);
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--v8-flags=--expose-gc", ...runOptions()],
      fileURLToPath(program),
    ],
    stderr: "inherit",
  }).output();
  assert(success);
  const grown = Number(new TextDecoder().decode(stdout));
  // A window of each connection would be 1200 MiB.
  assert(grown < 600, `${grown} MiB more`);
});

Deno.test("createHandler serves 256 clients at once", async () => {
  await withFolder({}, async ({ port, errors }) => {
    const text =
      "GET /dem/c/2/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nRange: bytes=-40\r\n\r\n";
    const answers = await Promise.all(
      Array.from({ length: 256 }, () => sendRaw(port, text)),
    );
    assertEquals(new Set(answers.map(statusOf)), new Set([206]));
    assertEquals(CHUNK.length, 1000);
    assertEquals(errors, []);
  });
});
