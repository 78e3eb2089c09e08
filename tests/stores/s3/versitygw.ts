import type { S3StoreOptions } from "../../../src/s3/mod.ts";

/** A running versitygw with the empty bucket `bucket`. */
export interface Versitygw {
  readonly options: S3StoreOptions;
  close(): Promise<void>;
}

/** Starts versitygw over an empty folder, with signatures and conditions as S3 checks them. */
export async function startVersitygw(path: string): Promise<Versitygw> {
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(`${folder}/data/bucket`, { recursive: true });
  const probe = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = probe.addr;
  probe.close();
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
  for (let tries = 1;; tries++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      break;
    } catch (error) {
      if (tries < 200) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      await close();
      throw error;
    }
  }
  return {
    options: {
      endpoint: `http://127.0.0.1:${port}`,
      credentials: { accessKeyId: "key", secretAccessKey: "secret" },
    },
    close,
  };
}
