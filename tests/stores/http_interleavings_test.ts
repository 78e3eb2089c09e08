import { testInterleavings } from "./http_interleavings.ts";

testInterleavings(2);
