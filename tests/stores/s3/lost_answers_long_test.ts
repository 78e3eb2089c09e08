/** Buckets behind a proxy that drops the answers of the server, and cuts off others. */
import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { createServer, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { recover } from "../../../mod.ts";
import { S3Store, type S3StoreOptions } from "../../../s3.ts";
import { testWith } from "../../support/tools.ts";
import { Chunk, KEY } from "./chunk.ts";
import { BUCKET_PROGRAMS } from "./servers.ts";

/** A request as the proxy sees it. */
interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** What the proxy does with the answer of the server: the server has acted by then. */
type Loss = "drop" | "cut" | "pass";

interface Proxy {
  readonly endpoint: string;
  lose: (request: Seen) => Loss;
  close(): Promise<void>;
}

async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const proxy: { lose: Proxy["lose"] } = { lose: () => "pass" };
  const server = createServer((request, response) => {
    const { method = "", url = "", headers } = request;
    const loss = proxy.lose({ method, url, headers });
    const forwarded = sendRequest(
      // Signatures hold for the host that the client has named.
      { hostname, port, method, path: url, headers, agent: false },
      (answer) => {
        const pieces: Uint8Array[] = [];
        answer.on("data", (piece) => pieces.push(piece));
        answer.on("end", () => {
          if (loss === "drop") return request.socket.destroy();
          response.writeHead(answer.statusCode!, answer.headers);
          const body = Buffer.concat(pieces);
          if (loss === "pass" || body.length < 2) return response.end(body);
          response.write(body.subarray(0, body.length >> 1), () => {
            request.socket.destroy();
          });
        });
      },
    );
    forwarded.on("error", () => request.socket.destroy());
    request.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(proxy, {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

/** The requests whose answers are dropped, one after another, by what they are. */
const KINDS: Readonly<Record<string, (request: Seen) => boolean>> = {
  "PUT If-None-Match": ({ method, headers }) =>
    method === "PUT" && headers["if-none-match"] !== undefined,
  "PUT If-Match": ({ method, headers }) =>
    method === "PUT" && headers["if-match"] !== undefined,
  "the completion of the first object": ({ method, url }) =>
    method === "POST" && url.includes(`${KEY}?uploadId`),
  "the completion of the last object": ({ method, url }) =>
    method === "POST" && url.includes(".i?uploadId"),
  "the creation of an upload": ({ method, url }) =>
    method === "POST" && url.includes("?uploads"),
  "a piece": ({ method, url }) =>
    method === "PUT" && url.includes("partNumber="),
  "DELETE If-Match": ({ method, headers }) =>
    method === "DELETE" && headers["if-match"] !== undefined,
  "HEAD": ({ method }) => method === "HEAD",
  "GET": ({ method }) => method === "GET",
};

for (const program of BUCKET_PROGRAMS) {
  const test = (what: string, task: typeof loseEach) =>
    testWith(program.tool, `S3Store of ${program.name} ${what}`, async () => {
      const server = await program.start();
      const proxy = await startProxy(server.options.endpoint);
      try {
        const { endpoint } = proxy;
        await task(proxy, { ...server.options, endpoint, retryDelay: 1 });
      } finally {
        await proxy.close();
        await server.close();
      }
    });
  test("makes each change once, whatever answer is lost", loseEach);
  test(
    "makes each change of several programs once where answers are lost",
    loseMany,
  );
}

/** A chunk of two objects, and one of one. */
const chunksOf = (options: S3StoreOptions) => {
  const store = new S3Store("s3://bucket/x", options);
  return [new Chunk(store), new Chunk(store, [""], "/one")];
};
const add = (chunk: Chunk) => chunk.update((number) => number! + 1);

async function loseEach(proxy: Proxy, options: S3StoreOptions): Promise<void> {
  const chunks = chunksOf(options);
  for (const chunk of chunks) await chunk.write(0);
  let count = 0;
  for (const [kind, isOfKind] of Object.entries(KINDS)) {
    for (const loss of ["drop", "cut"] as const) {
      count += 2;
      for (const chunk of chunks) {
        let losses = 0;
        proxy.lose = (request) =>
          isOfKind(request) && losses++ === 0 ? loss : "pass";
        await chunk.write(count - 1, () => {});
        losses = 0;
        await add(chunk);
        proxy.lose = () => "pass";
        assertEquals(await chunk.read(), count, `${loss} ${kind}`);
      }
    }
  }
}

async function loseMany(proxy: Proxy, options: S3StoreOptions): Promise<void> {
  for (const chunk of chunksOf(options)) await chunk.write(0);
  let requests = 0;
  // Not every second, so that the losses meet different requests.
  proxy.lose = () => requests++ % 7 === 3 ? "drop" : "pass";
  await Promise.all(Array.from({ length: 4 }, async () => {
    const chunks = chunksOf({ ...options, retries: 8 });
    for (let i = 0; i < 4; i++) {
      for (const chunk of chunks) await add(chunk);
    }
  }));
  proxy.lose = () => "pass";
  const chunks = chunksOf(options);
  await recover(chunks[0]!.store);
  for (const chunk of chunks) assertEquals(await chunk.read(), 16, chunk.key);
}
