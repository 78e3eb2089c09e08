import type { ConvertPlan } from "../plan/convert_plan.ts";

/**
 * Identifies the documents of the source and of the target, in any process. Equal digests
 * mean equal keys and parts of all chunks.
 */
export async function planDigest(
  { nodes, documents, arrays }: ConvertPlan,
): Promise<string> {
  const texts: string[] = [];
  const decoder = new TextDecoder();
  for (const { path, bytes } of nodes) {
    texts.push(path, decoder.decode(bytes));
    texts.push(decoder.decode(documents.get(path)));
  }
  for (const { path, contain } of arrays) {
    if (contain) texts.push(`container of ${path}`);
  }
  const bytes = new TextEncoder().encode(JSON.stringify(texts));
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(
    new Uint8Array(digest),
    (byte) => byte.toString(16).padStart(2, "0"),
  ).join("");
}
