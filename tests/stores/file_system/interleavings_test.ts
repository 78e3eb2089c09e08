/**
 * All interleavings of processes that run the code of the file store, with a kill before
 * each operation: the smaller scenarios.
 */
import { SCENARIOS, testLine } from "./scenarios.ts";

for (const line of SCENARIOS) if (!line.isLong) testLine(line);
