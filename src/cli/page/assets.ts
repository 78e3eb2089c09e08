import style from "./page.css" with { type: "text" };
import script from "./script.js" with { type: "text" };
import { moduleText } from "./modules.ts";

/**
 * The path of the files of pages, below that of the store. No node of Zarr v3 has a name
 * that starts with two underscores.
 */
export const ASSETS = "/__page__/";

const JAVASCRIPT = "text/javascript; charset=utf-8";

const FILES: ReadonlyMap<string, { text: string; type: string }> = new Map([
  ["page.css", { text: style, type: "text/css; charset=utf-8" }],
  ["script.js", { text: script, type: JAVASCRIPT }],
]);

/** Answers a request for a file of the pages, by its path below {@linkcode ASSETS}. */
export async function answerAsset(path: string): Promise<Response> {
  const known = FILES.get(path);
  if (known !== undefined) return fileOf(known.text, known.type);
  const text = path.startsWith("modules/")
    ? await moduleText(path.slice("modules/".length))
    : undefined;
  return text === undefined
    ? new Response("Not a file of the pages\n", { status: 404 })
    : fileOf(text, JAVASCRIPT);
}

function fileOf(text: string, type: string): Response {
  return new Response(text, {
    headers: {
      "Content-Length": `${new TextEncoder().encode(text).length}`,
      "Content-Type": type,
      "Cache-Control": "max-age=3600",
      "X-Content-Type-Options": "nosniff",
    },
  });
}
