import { testScenes } from "./interleavings.ts";

testScenes(1, 3);
