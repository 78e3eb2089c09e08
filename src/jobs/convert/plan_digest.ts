import { digestOf } from "../../stores/digest.ts";
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
  return await digestOf(new TextEncoder().encode(JSON.stringify(texts)), 32);
}
