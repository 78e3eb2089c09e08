/** The program of the workers of a `ThreadPool`. */
import { runChunkWorker } from "../src/threads/run_chunk_worker.ts";

runChunkWorker();
