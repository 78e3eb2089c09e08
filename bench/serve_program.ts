/** A server of `deno task bench serve`: `serve_program.ts handler|plain FOLDER PORT` */
import { FileSystemStore } from "../mod.ts";
import { createHandler } from "../serve.ts";

const [kind, folder, port] = Deno.args;

/** The least that a server of files does: whole files and single ranges. */
async function servePlain(request: Request): Promise<Response> {
  const path = folder + new URL(request.url).pathname;
  const file = await Deno.open(path);
  const { size } = await file.stat();
  const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get("range") ?? "");
  if (range === null) {
    const headers = { "content-length": `${size}` };
    return new Response(file.readable, { headers });
  }
  const [first, last] = [Number(range[1]), Number(range[2])];
  const bytes = new Uint8Array(last + 1 - first);
  await file.seek(first, Deno.SeekMode.Start);
  for (let filled = 0; filled < bytes.length;) {
    filled += (await file.read(bytes.subarray(filled)))!;
  }
  file.close();
  return new Response(bytes, {
    status: 206,
    headers: { "content-range": `bytes ${first}-${last}/${size}` },
  });
}

const handler = kind === "plain"
  ? servePlain
  : createHandler(new FileSystemStore(folder!));
Deno.serve(
  { hostname: "127.0.0.1", port: Number(port), onListen() {} },
  (request) => handler(request),
);
