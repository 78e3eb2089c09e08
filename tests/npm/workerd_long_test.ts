/** The example for Cloudflare in workerd, the runtime of Cloudflare's Workers. */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { FileSystemStore } from "../../mod.ts";
import { convert } from "../../jobs.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { freePort, isListening } from "../support/ports.ts";
import { testWith } from "../support/tools.ts";
import { ARRAY, at, install, REGISTRY, succeed } from "./installed.ts";
import * as zarr from "zarrita";

/** Runs a Worker in workerd, and a test with its URL. */
async function withWorker(
  { folder, script, variables }: {
    folder: string;
    script: string;
    variables: Record<string, string>;
  },
  test: (url: string) => Promise<void>,
): Promise<void> {
  const port = freePort();
  const bindings = Object.entries(variables)
    .map(([name, text]) => `(name = "${name}", text = "${text}")`);
  await Deno.writeTextFile(
    join(folder, "config.capnp"),
    `using Workerd = import "/workerd/workerd.capnp";
    const worker :Workerd.Worker = (
      modules = [(name = "worker", esModule = embed "${script}")],
      compatibilityDate = "2026-01-01",
      bindings = [${bindings.join(", ")}],
      globalOutbound = "network",
    );
    const config :Workerd.Config = (
      services = [
        (name = "main", worker = .worker),
        (name = "network", network = (allow = ["private"])),
      ],
      sockets = [
        (name = "http", address = "127.0.0.1:${port}", http = (), service = "main"),
      ],
    );`,
  );
  const workerd = new Deno.Command(
    join(folder, "node_modules/workerd/bin/workerd"),
    { args: ["serve", "config.capnp"], cwd: folder, stderr: "piped" },
  ).spawn();
  const errors = new Response(workerd.stderr).text();
  try {
    await isListening(port);
    await test(`http://127.0.0.1:${port}`);
  } finally {
    workerd.kill();
    await workerd.status;
  }
  assertEquals(await errors, "");
}

testWith(
  REGISTRY,
  "examples/cloudflare.ts serves the arrays at a URL, in workerd",
  () =>
    inTempDir(async (folder) => {
      await install(folder, ["esbuild@latest", "workerd@latest"], {
        name: "@zarr-parts/zarr-parts",
      });
      await succeed(folder, "cp", at("../../examples/cloudflare.ts"), ".");
      // deno-fmt-ignore
      await succeed(folder, "npx", "--offline", "esbuild", "cloudflare.ts", "--bundle", "--format=esm", "--outfile=worker.js");
      const stored = new FileSystemStore(join(folder, "data"));
      await convert(new FileSystemStore(ARRAY), {
        store: stored,
        path: "parts.zarr",
      }, { suffix: ".shard", parts: ["", ".index"] });
      const answer = storeHandler(stored);
      // Requests to the Worker wait for the same documents and indexes at once.
      const backing = serve(async (request) => {
        await new Promise((resolve) => setTimeout(resolve, 100));
        return await answer(request);
      });
      const options = { kind: "array" } as const;
      const { data } = await zarr.get(
        await zarr.open(new FileSystemStore(ARRAY), options),
      );
      const variables = { STORE_URL: backing.url };
      try {
        // deno-fmt-ignore
        await withWorker({ folder, script: "worker.js", variables }, async (url) => {
          for (let reader = 0; reader < 2; reader++) {
            const store = new zarr.FetchStore(`${url}/parts.zarr`);
            const array = await zarr.open.v3(store, options);
            assertEquals((await zarr.get(array)).data, data);
          }
          const absent = await fetch(`${url}/parts.zarr/c/9/9`);
          assertEquals(absent.status, 404);
          await absent.body?.cancel();
        });
      } finally {
        await backing.close();
      }
    }),
);
