import { testComposedStores } from "./composed_conformance.ts";

testComposedStores("a header, the data and an index");
