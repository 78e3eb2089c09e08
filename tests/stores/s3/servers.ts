import type { S3StoreOptions } from "../../../s3.ts";
import { freePort, isListening } from "../../support/ports.ts";
import { findOnPath, type Tool } from "../../support/tools.ts";

const CREDENTIALS = { accessKeyId: "testkey", secretAccessKey: "testsecret" };

/** A running server with the empty bucket `bucket`. */
export interface BucketServer {
  readonly options: S3StoreOptions & { readonly endpoint: string };
  /** Kills the server, and starts it again over the same data. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** A program that serves buckets. */
export interface BucketProgram {
  readonly name: string;
  readonly tool: Tool;
  /** Whether it checks signatures. */
  readonly checksSignatures: boolean;
  /** Whether it heeds conditions of `DELETE`, so that chunks of several objects can be deleted. */
  readonly deletesChunks: boolean;
  /** Whether its data outlive it. */
  readonly keepsData: boolean;
  start(): Promise<BucketServer>;
}

async function find(name: string, advice: string): Promise<Tool> {
  const path = await findOnPath([name]);
  return path === undefined
    ? { missing: `no ${name} found on PATH; install it (${advice})` }
    : { path };
}

/** The versions that `.ci/run` installs. */
export const BUCKET_PROGRAMS: readonly BucketProgram[] = [
  {
    name: "versitygw",
    tool: await find(
      "versitygw",
      "go install github.com/versity/versitygw/cmd/versitygw@v1.8.0",
    ),
    checksSignatures: true,
    deletesChunks: true,
    keepsData: true,
    start() {
      return startServer(this.tool, {
        args: (
          port,
          folder,
        ) => ["--port", `127.0.0.1:${port}`, "posix", folder],
        env: {
          ROOT_ACCESS_KEY: CREDENTIALS.accessKeyId,
          ROOT_SECRET_KEY: CREDENTIALS.secretAccessKey,
        },
      });
    },
  },
  {
    name: "MinIO",
    tool: await find(
      "minio",
      "go install github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c",
    ),
    checksSignatures: true,
    deletesChunks: false,
    keepsData: true,
    start() {
      return startServer(this.tool, {
        args: (port, folder) => [
          "server",
          "--quiet",
          "--address",
          `127.0.0.1:${port}`,
          folder,
        ],
        env: {
          MINIO_ROOT_USER: CREDENTIALS.accessKeyId,
          MINIO_ROOT_PASSWORD: CREDENTIALS.secretAccessKey,
          MINIO_BROWSER: "off",
          MINIO_UPDATE: "off",
        },
      });
    },
  },
  {
    name: "moto",
    tool: await find("moto_server", "pip install 'moto[server,s3]==5.2.5'"),
    checksSignatures: false,
    deletesChunks: true,
    keepsData: false,
    start() {
      return startServer(this.tool, {
        args: (port) => ["-H", "127.0.0.1", "-p", `${port}`],
        env: {},
        createsBucket: true,
      });
    },
  },
];

async function startServer(
  tool: Tool,
  { args, env, createsBucket = false }: {
    args(port: number, folder: string): string[];
    env: Record<string, string>;
    createsBucket?: boolean;
  },
): Promise<BucketServer> {
  if ("missing" in tool) throw new Error(tool.missing);
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(`${folder}/data/bucket`, { recursive: true });
  const port = freePort();
  const spawn = () =>
    new Deno.Command(tool.path, {
      args: args(port, `${folder}/data`),
      env: { HOME: folder, ...env },
      stdout: "null",
      stderr: "null",
    }).spawn();
  let server = spawn();
  const endpoint = `http://127.0.0.1:${port}`;
  const close = async () => {
    server.kill("SIGTERM");
    await server.status;
    await Deno.remove(folder, { recursive: true });
  };
  const isReady = async () => {
    await isListening(port);
    // Some servers listen before they can answer.
    for (let tries = 0; tries < 200; tries++) {
      const response = await fetch(
        `${endpoint}/bucket`,
        createsBucket ? { method: "PUT" } : {},
      );
      await response.body?.cancel();
      if (response.status < 500) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  try {
    await isReady();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    options: { endpoint, credentials: CREDENTIALS },
    close,
    async restart() {
      server.kill("SIGKILL");
      await server.status;
      server = spawn();
      await isReady();
    },
  };
}
