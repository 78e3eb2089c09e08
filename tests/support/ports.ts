/** The ports that are tried: systems give others, from 32768 on, to programs that ask for any port. */
const [FIRST, COUNT] = [20_000, 12_000];

/** The ports that were returned. */
const given = new Set<number>();

/**
 * Returns a port of this machine that is free. It stays free until a program of the test
 * listens on it, unless another program chooses the same one.
 */
export function freePort(): number {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (given.has(port)) continue;
    try {
      Deno.listen({ port, hostname: "127.0.0.1" }).close();
      given.add(port);
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}

/** Waits until a program listens on a port, for at least ten seconds. */
export async function isListening(port: number): Promise<void> {
  for (let tries = 1;; tries++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (error) {
      if (tries === 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
