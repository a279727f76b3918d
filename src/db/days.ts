/** The length of the days that the triggers count by: whole ones since 1970-01-01, UTC. */
export const DAY_MS = 86_400_000;
