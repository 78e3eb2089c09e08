import { testScenes } from "./interleavings.ts";

testScenes(13, 600);
