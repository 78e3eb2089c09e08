import { assert, assertEquals } from "@std/assert";
import {
  ConcatParts,
  FileSystemStore,
  HttpStore,
  UnfinishedWriteError,
} from "../../mod.ts";
import { freePort, isListening } from "../support/ports.ts";
import { findOnPath, testWith, type Tool } from "../support/tools.ts";
import { inTempDir } from "./temp_dir.ts";

const NGINX = await findNginx();

async function findNginx(): Promise<Tool> {
  const path = await findOnPath(["nginx"]);
  return path === undefined
    ? { missing: "no nginx found on PATH; install it (apt-get install nginx)" }
    : { path };
}

const PARTS = new ConcatParts([{ keySuffix: "" }, {
  keySuffix: ".index",
  size: 16,
}]);

/** Runs a test with nginx, which serves a folder. */
async function withNginx(
  path: string,
  run: (folder: string, url: string) => Promise<void>,
): Promise<void> {
  await inTempDir(async (folder) => {
    const port = freePort();
    await Deno.mkdir(`${folder}/data`);
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${folder}/${name};`);
    await Deno.writeTextFile(
      `${folder}/nginx.conf`,
      `daemon off; master_process off; pid ${folder}/pid;
       error_log ${folder}/error.log;
       events {}
       http {
         access_log ${folder}/access.log;
         ${temporary.join(" ")}
         server { listen 127.0.0.1:${port}; root ${folder}/data;
                  dav_methods PUT DELETE; create_full_put_path on; client_max_body_size 0; }
       }`,
    );
    const server = new Deno.Command(path, {
      args: ["-p", folder, "-c", `${folder}/nginx.conf`],
      stdout: "null",
      stderr: "null",
    }).spawn();
    try {
      const url = `http://127.0.0.1:${port}`;
      await isListening(port);
      await run(`${folder}/data`, url);
    } finally {
      server.kill("SIGTERM");
      await server.status;
    }
  });
}

async function makeOld(path: string): Promise<void> {
  await Deno.utime(
    path,
    new Date(Date.now() - 60_000),
    new Date(Date.now() - 60_000),
  );
}

testWith(
  NGINX,
  "HttpStore reads chunks in parts from nginx without further requests",
  (path) =>
    withNginx(path, async (folder, url) => {
      const chunk = new Uint8Array(100).fill(7);
      await PARTS.apply(new FileSystemStore(folder)).set("/c/0", chunk);
      for (const name of ["0", "0.index"]) await makeOld(`${folder}/c/${name}`);
      const store = PARTS.apply(new HttpStore(url));
      assertEquals(await store.get("/c/0"), chunk);
      assertEquals(await store.get("/c/1"), undefined);
      const log = await Deno.readTextFile(`${folder}/../access.log`);
      assertEquals(
        Array.from(log.matchAll(/"(\w+) (\S+) HTTP.+?" (\d+)/g))
          .map(([, method, name, status]) => `${method} ${name} ${status}`)
          .sort(),
        [
          "GET /c/0 200",
          "GET /c/0.index 200",
          "GET /c/1 404",
          "GET /c/1.index 404",
        ],
      );
    }),
);

testWith(
  NGINX,
  "HttpStore reads chunks of one write from nginx while they are written",
  (path) =>
    withNginx(path, async (folder, url) => {
      const files = PARTS.apply(new FileSystemStore(folder));
      let last = 0;
      const chunkOf = (write: number) =>
        new Uint8Array(200_000 + write).fill(write);
      await files.set("/c/0", chunkOf(0));
      const outcomes = { read: 0, unfinished: 0 };
      let isWriting = true;
      const writer = (async () => {
        // Goes on until one was read meanwhile.
        while (last < 40 || outcomes.read === 0 && last < 250) {
          await files.set("/c/0", chunkOf(++last));
          await new Promise((resolve) => setTimeout(resolve, 25));
        }
        isWriting = false;
      })();
      const reader = async () => {
        const store = PARTS.apply(new HttpStore(url));
        do {
          try {
            const chunk = (await store.get("/c/0"))!;
            assertEquals(chunk, chunkOf(chunk[0]!));
            outcomes.read++;
          } catch (error) {
            if (!(error instanceof UnfinishedWriteError)) throw error;
            outcomes.unfinished++;
          }
        } while (isWriting);
      };
      await Promise.all([writer, ...Array.from({ length: 8 }, reader)]);
      assert(outcomes.read > 0, JSON.stringify(outcomes));
      const chunk = await PARTS.apply(new HttpStore(url)).get("/c/0");
      assertEquals(chunk, chunkOf(last));
    }),
);
