import { testInterleavings, testReplacedValues } from "./http_interleavings.ts";

testInterleavings(10);
testReplacedValues();
