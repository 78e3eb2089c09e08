/** A program for Node that runs the conformance tests of stores on `FileSystemStore`, and prints its failures. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { FileSystemStore, type FileSystemStoreOptions } from "../../mod.ts";

interface Context {
  step(name: string, run: () => Promise<void>): Promise<void>;
}
const tests: [name: string, run: (t: Context) => Promise<void>][] = [];
Object.assign(globalThis, {
  Deno: {
    test: (name: string, run: (t: Context) => Promise<void>) =>
      tests.push([name, run]),
  },
});
// Node 20 lacks these, which the cases use and the library does not.
Promise.withResolvers ??= function <T>() {
  let [resolve, reject]: ((value: never) => void)[] = [];
  const promise = new Promise<T>((...settle) => [resolve, reject] = settle);
  return { promise, resolve: resolve!, reject: reject! } as never;
};
Array.fromAsync ??= async (items: AsyncIterable<unknown>) => {
  const all = [];
  for await (const item of items) all.push(item);
  return all;
};
// After `Deno.test` is there.
const { testStore } = await import("../stores/conformance.ts");

for (
  const options of [{}, { exclusive: true }] satisfies FileSystemStoreOptions[]
) {
  testStore(`FileSystemStore ${JSON.stringify(options)}`, async () => {
    const root = await mkdtemp(join(tmpdir(), "zarr-parts-"));
    return {
      store: new FileSystemStore(root, options),
      async fill(key, bytes) {
        const path = root + key;
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, bytes);
      },
      close: () => rm(root, { recursive: true }),
    };
  }, { hasWriter: true });
}

const failures: string[] = [];
let passed = 0;
const attempt = async (name: string, run: () => Promise<void>) => {
  try {
    await run();
    passed++;
  } catch (error) {
    failures.push(`${name}: ${(error as Error).stack}`);
  }
};
for (const [name, run] of tests) {
  await attempt(name, () =>
    run({
      step: (step, runStep) => attempt(`${name}, ${step}`, runStep),
    }));
}
console.log(JSON.stringify({ passed, failures }));
