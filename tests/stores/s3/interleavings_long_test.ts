import { testScenes } from "./interleavings.ts";

testScenes(4, 400);
