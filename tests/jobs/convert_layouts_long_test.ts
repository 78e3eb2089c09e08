import { testShards } from "./convert_layouts.ts";

for (const size of [2 ** 20 - 72, 3 * 2 ** 20 + 7]) testShards(size);
