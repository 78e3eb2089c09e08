import { fileURLToPath } from "node:url";
import { PYTHON } from "../tests/interop/python.ts";
import type { Volume } from "./volume_data.ts";

/** The codec of the shards, as far as it is used here. */
interface Sharding {
  readonly configuration: {
    readonly chunk_shape: readonly number[];
    readonly codecs: readonly { configuration: { level: number } }[];
  };
}

/** zarr-python in a process of its own, which holds the volume in memory. */
export class ZarrPython implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #output: ReadableStreamDefaultReader<string>;

  private constructor(process: Deno.ChildProcess) {
    this.#process = process;
    this.#input = process.stdin.getWriter();
    this.#output = process.stdout.pipeThrough(new TextDecoderStream())
      .getReader();
  }

  /**
   * Starts the process; returns the reason where that is not possible.
   *
   * @param folder A folder for a file of the elements.
   */
  static async start(
    folder: string,
    { shape, data, metadata }: Volume,
  ): Promise<ZarrPython | string> {
    if ("missing" in PYTHON) return PYTHON.missing;
    const file = `${folder}/volume.raw`;
    await Deno.writeFile(file, new Uint8Array(data.buffer));
    const [sharding] = metadata.codecs as unknown as [Sharding];
    const { chunk_shape, codecs } = sharding.configuration;
    const layout = [
      shape,
      metadata.chunk_grid.configuration!.chunk_shape,
      chunk_shape,
      codecs.at(-1)!.configuration.level,
    ];
    const script = fileURLToPath(import.meta.resolve("./volume_peer.py"));
    const process = new Deno.Command(PYTHON.path, {
      args: ["-B", script, file, JSON.stringify(layout)],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    return new ZarrPython(process);
  }

  /** Creates an array in a folder, in place of what is there. */
  async create(folder: string): Promise<void> {
    await this.#ask(`create ${folder}`);
  }

  /** Writes the volume into the array that was created last. */
  async write(): Promise<void> {
    await this.#ask("write");
  }

  /** Compares the array in a folder with the volume. */
  async check(folder: string): Promise<void> {
    await this.#ask(`check ${folder}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#input.close().catch(() => {}); // The process may have failed.
    await this.#output.cancel();
    await this.#process.status;
  }

  async #ask(command: string): Promise<void> {
    await this.#input.write(new TextEncoder().encode(`${command}\n`));
    for (let answer = ""; !answer.endsWith("\n");) {
      const { done, value } = await this.#output.read();
      if (done) throw new Error(`zarr-python failed to ${command}`);
      answer += value;
    }
  }
}
