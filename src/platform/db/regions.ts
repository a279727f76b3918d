/** Cloudflare's location hints, near which objects are created. */
const LOCATIONS = ["wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"] as const;

/** The jurisdictions in which objects run and keep their data, by Cloudflare's names. */
export const JURISDICTIONS = ["eu", "us"] as const;

export type Location = (typeof LOCATIONS)[number];
export type Jurisdiction = (typeof JURISDICTIONS)[number];
export type Region = Location | Jurisdiction;

export const REGIONS: readonly [Region, ...Region[]] = [...LOCATIONS, ...JURISDICTIONS];

/** Returns whether a text names a region. */
export function isRegion(text: string): text is Region {
  return (REGIONS as readonly string[]).includes(text);
}

/** Returns the region as a jurisdiction; null if it is none. */
export function jurisdictionOf(region: Region | undefined): Jurisdiction | null {
  return JURISDICTIONS.find((jurisdiction) => jurisdiction === region) ?? null;
}
