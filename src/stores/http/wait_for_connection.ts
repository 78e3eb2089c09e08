import type { Connection, Connections } from "./connection.ts";

/** How long a connection may be idle while others wait for one, in milliseconds. */
const IDLE = 250;

/**
 * Waits until a request may begin. A connection that is open, but whose body nobody
 * reads, does not count after a moment: its reader may itself wait for a request, and
 * would wait forever.
 */
export async function waitForConnection(
  connections: Connections,
  connection: Connection,
): Promise<void> {
  const { open, waiting, most } = connections;
  const { signal } = connection;
  if (open.size < most) return void open.add(connection);
  await new Promise<void>((resolve, reject) => {
    const timer = setInterval(() => {
      const latest = Date.now() - IDLE;
      for (const other of open) {
        if (other.since! <= latest) return other.end();
      }
    }, IDLE);
    const stop = () => {
      clearInterval(timer);
      signal.removeEventListener("abort", fail);
    };
    const begin = () => {
      stop();
      open.add(connection);
      resolve();
    };
    const fail = () => {
      stop();
      waiting.splice(waiting.indexOf(begin), 1);
      reject(signal.reason);
    };
    signal.addEventListener("abort", fail);
    waiting.push(begin);
    if (signal.aborted) fail();
  });
}
