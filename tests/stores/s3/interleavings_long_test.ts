import { testScenes } from "./interleavings.ts";

testScenes(6, 400);
