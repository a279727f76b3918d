/** Cloudflare's location hints: where objects are created near. */
const LOCATIONS = ["wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"] as const;

/** The jurisdictions in which objects run and keep their data, by Cloudflare's names. */
export const JURISDICTIONS = ["eu", "us"] as const;

export type Location = (typeof LOCATIONS)[number];
export type Jurisdiction = (typeof JURISDICTIONS)[number];
export type Region = Location | Jurisdiction;

export const REGIONS: readonly [Region, ...Region[]] = [...LOCATIONS, ...JURISDICTIONS];

/** Whether a text names a region. */
export function isRegion(text: string): text is Region {
  return (REGIONS as readonly string[]).includes(text);
}

/** The jurisdiction of a region that is one; null for others, and for none. */
export function jurisdictionOf(region: Region | undefined): Jurisdiction | null {
  return JURISDICTIONS.find((jurisdiction) => jurisdiction === region) ?? null;
}
