import { chooseStandardLibrary } from "../../tools/standard_library.ts";

/**
 * Runs a program of Deno that serves on a port, and a test against it.
 *
 * @param args The arguments of `deno`.
 */
export async function withServer(
  args: readonly string[],
  port: number,
  env: Record<string, string>,
  test: (url: string) => Promise<void>,
): Promise<void> {
  const { run } = await chooseStandardLibrary();
  const stop = new AbortController();
  const serving = run(args, { output: "piped", signal: stop.signal, env });
  const url = `http://127.0.0.1:${port}`;
  try {
    await answered(url, serving);
    await test(url);
  } finally {
    stop.abort();
    await serving;
  }
}

/** Waits until a server answers; rejects with its output if it exits. */
async function answered(
  url: string,
  serving: Promise<{ output: string }>,
): Promise<void> {
  const ended = serving.then(({ output }) => {
    throw new Error(`The server ended: ${output}`);
  });
  for (;;) {
    const asked = fetch(url).then((response) => response.body?.cancel());
    try {
      return await Promise.race([asked, ended]);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // Not "connection refused".
      await Promise.race([
        new Promise((resolve) => setTimeout(resolve, 50)),
        ended,
      ]);
    }
  }
}
