import { expect, test } from "vitest";
import { FEATURES, placeOf } from "../src/surfaces/api.ts";

test.each(FEATURES)("the feature at $at is loaded for the paths of all its operations", async ({ at, load }) => {
  const { definitions } = (await load()).openAPIRegistry;
  const routes = definitions.flatMap((definition) => (definition.type === "route" ? [definition.route.path] : []));
  const places = new Set(routes.map((path) => placeOf(`/api/v1${path}`)));
  expect([...places].toSorted()).toEqual(at.toSorted());
});
