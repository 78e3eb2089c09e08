import type { S3StoreOptions } from "../../../src/s3/mod.ts";
import { freePort, isListening } from "../../support/ports.ts";

/** A running versitygw with the empty bucket `bucket`. */
export interface Versitygw {
  readonly options: S3StoreOptions;
  close(): Promise<void>;
}

/** Starts versitygw over an empty folder, with signatures and conditions as S3 checks them. */
export async function startVersitygw(path: string): Promise<Versitygw> {
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(`${folder}/data/bucket`, { recursive: true });
  const port = freePort();
  const server = new Deno.Command(path, {
    args: ["--port", `127.0.0.1:${port}`, "posix", `${folder}/data`],
    env: { ROOT_ACCESS_KEY: "key", ROOT_SECRET_KEY: "secret" },
    stdout: "null",
    stderr: "null",
  }).spawn();
  const close = async () => {
    server.kill("SIGTERM");
    await server.status;
    await Deno.remove(folder, { recursive: true });
  };
  try {
    await isListening(port);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    options: {
      endpoint: `http://127.0.0.1:${port}`,
      credentials: { accessKeyId: "key", secretAccessKey: "secret" },
    },
    close,
  };
}
