import type { StoreKey } from "../../stores/store.ts";
import type { Deadline } from "../deadline.ts";
import type { ShownStore } from "../shown_store.ts";

/**
 * Returns the page of a node, HTML that shows the node's document; `undefined` if no node
 * is at the path.
 *
 * @param root The path of the node, without a `/` at its end; empty for the root.
 */
export async function nodePage(
  shown: ShownStore,
  root: string,
  deadline: Deadline,
): Promise<string | undefined> {
  const key = `${root}/zarr.json` as StoreKey;
  const value = await shown.find(key, "all", deadline);
  if (value === undefined) return undefined;
  const bytes = await value.open(0, value.size, deadline);
  value.release();
  const text = bytes && await new Response(bytes as BodyInit).text();
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(root || "/")}</title>
<h1>${escaped(root || "/")}</h1>
<pre>${escaped(text ?? "")}</pre>
</html>
`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Returns a text as HTML shows it. */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}
