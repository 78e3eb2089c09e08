/** A program for Node that writes, reads or updates one chunk of several files. */
import process from "node:process";
import { runWork } from "../stores/file_system/chunk_program.ts";

await runWork(JSON.parse(process.argv[2]!));
