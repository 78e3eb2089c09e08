import { assert, assertEquals } from "@std/assert";
import {
  ConcatParts,
  FileSystemStore,
  HttpStore,
  UnfinishedWriteError,
} from "../../mod.ts";
import { testWith } from "../support/tools.ts";
import { NGINX, NginxServer } from "./nginx.ts";
import { inTempDir } from "./temp_dir.ts";

const PARTS = new ConcatParts([{ keySuffix: "" }, {
  keySuffix: ".index",
  size: 16,
}]);

/** Runs a test with nginx, which serves a folder. */
async function withNginx(
  path: string,
  run: (folder: string, url: string) => Promise<void>,
): Promise<void> {
  await inTempDir(async (own) => {
    const folder = `${own}/data`;
    await Deno.mkdir(folder);
    await using server = await NginxServer.start(path, folder, own);
    await run(folder, server.url);
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
  "HttpStore reads chunks in parts from nginx with one request more",
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
          "HEAD /c/0.index 200",
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
        // nginx tells the times of files in seconds: a chunk of several files can be read
        // when no file has changed for some seconds.
        for (let round = 0; round < 6 && outcomes.read === 0; round++) {
          for (let i = 0; i < 40; i++) {
            await files.set("/c/0", chunkOf(++last));
            await new Promise((resolve) => setTimeout(resolve, 25));
          }
          await new Promise((resolve) => setTimeout(resolve, 3000));
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
