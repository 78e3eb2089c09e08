/** The program of workers of a page that allows no workers from `blob:` URLs. */
import { runChunkWorker } from "../../zarrita.ts";

runChunkWorker();
