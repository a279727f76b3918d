import { api, type Schemas } from "./api.ts";
import { type Query, useQuery } from "./query.ts";

export type Team = Schemas["Team"];

export const PRIORITIES = [
  ["urgent", "Urgent"],
  ["high", "High"],
  ["normal", "Normal"],
  ["low", "Low"],
] as const;

/** Reads the teams of the workspace. */
export function useTeams(): Query<Team[]> {
  return useQuery("teams", async (signal) => (await api.listTeams({}, { signal })).data);
}
