/**
 * Serves the arrays in a folder to every Zarr client on this machine:
 *
 *     deno run --allow-read=data --allow-net examples/local.ts data 8000
 *
 * The port is 8000 by default.
 */
import { FileSystemStore } from "@zarr-parts/zarr-parts";
import { createHandler } from "@zarr-parts/zarr-parts/serve";

const [folder = ".", port = "8000"] = Deno.args;

const handler = createHandler(new FileSystemStore(folder), {
  keep: { seconds: 1 }, // The documents of a folder are read fast.
});
Deno.serve(
  { hostname: "127.0.0.1", port: Number(port) },
  (request) => handler(request),
);
