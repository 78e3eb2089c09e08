import { fileURLToPath } from "node:url";
import { PYTHON } from "../tests/interop/python.ts";

/** The libraries of Python that `volume_peer.py` runs. */
export const PEER_NAMES = ["zarr-python", "TensorStore", "zarrs"] as const;

/** The name of a library of Python. */
export type PeerName = typeof PEER_NAMES[number];

/** A library of Python in a process of its own. */
export class Peer implements AsyncDisposable {
  readonly name: PeerName;
  readonly #process: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #output: ReadableStreamDefaultReader<string>;

  private constructor(name: PeerName, process: Deno.ChildProcess) {
    this.name = name;
    this.#process = process;
    this.#input = process.stdin.getWriter();
    this.#output = process.stdout.pipeThrough(new TextDecoderStream())
      .getReader();
  }

  /** Starts the process. Prints the reason and returns `undefined` where the library is missing. */
  static async start(name: PeerName): Promise<Peer | undefined> {
    const problem = (reason: string) => {
      console.log(`${name} is not measured: ${reason}\n`);
      return undefined;
    };
    if ("missing" in PYTHON) return problem(PYTHON.missing);
    const script = fileURLToPath(import.meta.resolve("./volume_peer.py"));
    const process = new Deno.Command(PYTHON.path, {
      args: ["-B", "-W", "ignore", script, name],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const peer = new Peer(name, process);
    try {
      await peer.#answer("start");
      return peer;
    } catch (error) {
      await peer[Symbol.asyncDispose]();
      return problem(
        `${
          (error as Error).message
        }; bench/requirements.txt lists the packages`,
      );
    }
  }

  /**
   * Runs a method of `volume_peer.py`.
   *
   * @param args The arguments of the method by name.
   * @returns A sample of the elements that were read.
   * @throws {Error} If the method failed.
   */
  async ask(
    method: string,
    args: Readonly<Record<string, unknown>>,
  ): Promise<number> {
    const line = `${JSON.stringify([method, args])}\n`;
    await this.#input.write(new TextEncoder().encode(line));
    return await this.#answer(method);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#input.close().catch(() => {}); // The process may have failed.
    await this.#output.cancel();
    await this.#process.status;
  }

  async #answer(method: string): Promise<number> {
    let line = "";
    while (!line.endsWith("\n")) {
      const { done, value } = await this.#output.read();
      if (done) throw new Error(`${this.name} ended before its answer`);
      line += value;
    }
    const answer = JSON.parse(line) as { sample: number; problem?: string };
    if (answer.problem === undefined) return answer.sample;
    throw new Error(`${this.name} failed to ${method}: ${answer.problem}`);
  }
}
