import { fileURLToPath } from "node:url";

const ROOT = new URL("../../", import.meta.url);

/** A page of the documentation. */
export interface Page {
  /** Relative to the repository: `docs/writing.md`. */
  readonly path: string;
  readonly text: string;
}

/** A code block of a page. */
export interface CodeBlock {
  /** The page and the line of its first line: `docs/writing.md:12`. */
  readonly name: string;
  readonly language: string;
  /** Whether the block is marked `ignore`, which keeps it from running as a test. */
  readonly isIgnored: boolean;
  readonly code: string;
}

/** Reads the README, the guides in `docs/`, and the module documentation of `mod.ts`. */
export async function readPages(): Promise<Page[]> {
  const paths = ["README.md"];
  for await (const { name } of Deno.readDir(new URL("docs", ROOT))) {
    if (name.endsWith(".md")) paths.push(`docs/${name}`);
  }
  const pages = await Promise.all(
    paths.sort().map(async (path) => ({ path, text: await readText(path) })),
  );
  const [comment] = (await readText("mod.ts")).match(/^\/\*\*[^]*?\*\//)!;
  return [...pages, {
    path: "mod.ts",
    text: comment.replaceAll(/^ \* ?/gm, ""),
  }];
}

/** Returns the absolute path of a file of the repository. */
export function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, ROOT));
}

/** Returns the code blocks of a page, in order. */
export function codeBlocksOf({ path, text }: Page): CodeBlock[] {
  const blocks = text.matchAll(/^```(\S*)([^\n]*)\n([^]*?)^```$/gm);
  return Array.from(blocks, ([, language, attributes, code], i) => ({
    name: `${path}:${lineAt(text, i)}`,
    language: language!,
    isIgnored: attributes!.includes("ignore"),
    code: code!,
  }));
}

function lineAt(text: string, block: number): number {
  let fences = 0;
  const line = text.split("\n").findIndex((line) =>
    line.startsWith("```") && fences++ === 2 * block
  );
  return line + 2;
}

function readText(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, ROOT));
}
