import { freePort, isListening } from "../support/ports.ts";
import { findOnPath, type Tool } from "../support/tools.ts";

/** The path of nginx, or how to get it. */
export const NGINX = await findNginx();

async function findNginx(): Promise<Tool> {
  const path = await findOnPath(["nginx"]);
  return path === undefined
    ? { missing: "no nginx found on PATH; install it (apt-get install nginx)" }
    : { path };
}

/** nginx in a process of its own, which serves a folder and takes `PUT` and `DELETE`. */
export class NginxServer implements AsyncDisposable {
  /** Without a `/` at its end. */
  readonly url: string;
  readonly #process: Deno.ChildProcess;

  private constructor(url: string, process: Deno.ChildProcess) {
    this.url = url;
    this.#process = process;
  }

  /**
   * Starts the process.
   *
   * @param path The path of nginx.
   * @param root The folder that is served.
   * @param own A folder for files of nginx, among them `access.log`.
   */
  static async start(
    path: string,
    root: string,
    own: string,
  ): Promise<NginxServer> {
    const port = freePort();
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${own}/${name};`);
    await Deno.writeTextFile(
      `${own}/nginx.conf`,
      `daemon off; master_process off; pid ${own}/pid;
       error_log ${own}/error.log;
       events {}
       http {
         access_log ${own}/access.log;
         sendfile on;
         ${temporary.join(" ")}
         server { listen 127.0.0.1:${port}; root ${root};
                  dav_methods PUT DELETE; create_full_put_path on; client_max_body_size 0; }
       }`,
    );
    const process = new Deno.Command(path, {
      args: ["-p", own, "-c", `${own}/nginx.conf`],
      stdout: "null",
      stderr: "null",
    }).spawn();
    const server = new NginxServer(`http://127.0.0.1:${port}`, process);
    try {
      await isListening(port);
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGTERM");
    await this.#process.status;
  }
}
