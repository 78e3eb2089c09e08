/**
 * Bundles the program of the workers of a `ThreadPool`, and writes it as TypeScript, in
 * which form it loads without a file, a network or a permission: `deno task build`
 */
import { fileURLToPath } from "node:url";
import { bundleFile } from "./bundle.ts";

const MAIN = new URL("../worker/main.ts", import.meta.url);
const PROGRAM = new URL("../src/threads/worker_program.ts", import.meta.url);

async function bundle(): Promise<string> {
  const options = { minify: true };
  const [program] = (await bundleFile(fileURLToPath(MAIN), options)).values();
  return `// Bundled from worker/ by deno task build. Do not edit.
// deno-fmt-ignore-file
export const WORKER_PROGRAM: string = ${JSON.stringify(program)};
`;
}

/** Whether the committed program is that of the present sources. */
export async function isWorkerBuilt(): Promise<boolean> {
  return await bundle() === await Deno.readTextFile(PROGRAM);
}

if (import.meta.main) {
  const text = await bundle();
  await Deno.writeTextFile(PROGRAM, text);
  console.log(`${fileURLToPath(PROGRAM)}: ${text.length} characters`);
}
