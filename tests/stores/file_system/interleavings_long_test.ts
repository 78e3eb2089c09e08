/** The scenarios that are too large for `interleavings_test.ts`. */
import { SCENARIOS, testLine } from "./scenarios.ts";

for (const line of SCENARIOS) if (line.isLong) testLine(line);
