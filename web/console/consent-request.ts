import { signal } from "@preact/signals";
import { CONSENT_FRAGMENT } from "../../src/applications/metadata.ts";

/** The key in sessionStorage for the request, which outlives the sign-in at a provider in the same tab. */
const KEPT = "console.consent";
const KEPT_MS = 15 * 60_000;

/** What an application that the person wants to connect has asked for; undefined if there is none. */
export const consentRequest = signal<string>();

/** Takes the request from the address bar or, after a sign-in at a provider, from the tab's storage. */
export function takeConsentRequest(): void {
  const asked = new URLSearchParams(location.hash.slice(1)).get(CONSENT_FRAGMENT);
  if (asked !== null) {
    history.replaceState(null, "", location.pathname);
    sessionStorage.setItem(KEPT, JSON.stringify({ asked, untilMs: Date.now() + KEPT_MS }));
  }
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null") as { asked: string; untilMs: number } | null;
  if (kept && Date.now() < kept.untilMs) consentRequest.value = kept.asked;
}

/** Forgets the request: the person has decided. */
export function endConsentRequest(): void {
  sessionStorage.removeItem(KEPT);
  consentRequest.value = undefined;
}
