/**
 * Compiles the module in `wasm/` and writes it as TypeScript, in which form it
 * loads without a file, a network or a permission: `deno task build`
 */
import { Buffer } from "node:buffer";
import asc from "assemblyscript/asc";

const SOURCES = new URL("../wasm/", import.meta.url);
const TARGET = new URL("../src/checksum/wasm_binary.ts", import.meta.url);

/** What keeps the module small, and its memory as `wasm/memory.ts` says. */
const OPTIONS = [
  ...["--runtime", "stub"],
  ...["--enable", "simd"],
  ...["--initialMemory", "2"],
  ...["--memoryBase", String(0x20000)],
  "--noAssert",
  "-O3",
];

/** The text of the module that holds the binary, and the binary's size in bytes. */
async function compile(): Promise<{ text: string; size: number }> {
  let binary: Uint8Array | undefined;
  const { error, stderr } = await asc.main(
    ["crc32c.ts", "--outFile", "crc32c.wasm", ...OPTIONS],
    {
      readFile: (name) =>
        Deno.readTextFile(new URL(name, SOURCES)).catch(() => null),
      writeFile: (_name, contents) => {
        binary = contents as Uint8Array;
      },
      listFiles: () => [],
    },
  );
  if (error !== null || binary === undefined || stderr.toString() !== "") {
    throw new Error(`The module does not compile\n${stderr}`, { cause: error });
  }
  return {
    size: binary.length,
    text:
      `/** The module in \`wasm/\`, compiled by \`deno task build\`, in base64. */
export const WASM_BINARY =
  "${Buffer.from(binary).toString("base64")}";
`,
  };
}

/** Whether the committed binary is what the sources compile to. */
export async function isBuilt(): Promise<boolean> {
  return (await compile()).text === await Deno.readTextFile(TARGET);
}

if (import.meta.main) {
  const { text, size } = await compile();
  await Deno.writeTextFile(TARGET, text);
  console.log(`Compiled the module in wasm/ to ${size} bytes`);
}
