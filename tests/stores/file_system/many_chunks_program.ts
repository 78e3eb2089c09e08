/** Writes many chunks at the same time, then reads all of them at the same time. */
import { FileSystemStore, openArrayChunks } from "../../../mod.ts";

const { folder, count } = JSON.parse(Deno.args[0]!);
const chunks = await openArrayChunks(new FileSystemStore(folder));
const places = Array.from({ length: count }, (_, i) => i);
const bytesOf = (i: number) => new Uint8Array(20).fill(i % 251);
await Promise.all(places.map((i) => chunks.set([i], bytesOf(i))));
const read = await Promise.all(places.map((i) => chunks.get([i])));
const right = places.filter((i) => `${read[i]}` === `${bytesOf(i)}`);
console.log(`${right.length} chunks are right`);
