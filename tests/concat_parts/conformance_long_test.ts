import { testComposedStores } from "./composed_conformance.ts";

testComposedStores("a part too large to be read whole");
