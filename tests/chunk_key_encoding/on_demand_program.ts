/**
 * Opens arrays as a bundle does that holds no module for rare chunk key encodings, and
 * prints the key of a chunk, or the error.
 */
import { ArrayChunks } from "../../src/arrays/array_chunks.ts";
import { openArrayChunks } from "../../src/arrays/open_array_chunks.ts";
import { plainView } from "../../src/views/plain_view.ts";

const { document, how }: { document: string; how: string } = JSON.parse(
  Deno.args[0]!,
);
const bytes = new TextEncoder().encode(document);
const stored = new Map<string, Uint8Array>([["/zarr.json", bytes]]);
const store = {
  get: (key: string) => Promise.resolve(stored.get(key)),
  set: (key: string, value: Uint8Array) =>
    Promise.resolve(void stored.set(key, value)),
};
try {
  switch (how) {
    case "openArrayChunks":
      console.log((await openArrayChunks(store)).key([1, 2]));
      break;
    case "new ArrayChunks":
      console.log(new ArrayChunks(store, "", JSON.parse(document)).key([1, 2]));
      break;
    case "plainView":
      await plainView(store).set!("/c/1/2", new Uint8Array([7]));
      console.log([...stored.keys()][1]);
      break;
    case "plainView, created":
      stored.clear();
      await plainView(store).set!("/zarr.json", bytes);
      await plainView(store).set!("/c/1/2", new Uint8Array([7]));
      console.log([...stored.keys()][1]);
      break;
  }
} catch (error) {
  console.log(String(error));
}
