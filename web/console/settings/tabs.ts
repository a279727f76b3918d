import { hasScope, type Scope } from "../session.ts";

/** The pages of the settings, with the scope that a page needs besides that of the settings. */
const TABS: readonly (readonly [href: string, title: string, scope?: Scope])[] = [
  ["/", "Agents"],
  ["/members", "Members", "members:read"],
  ["/routing", "Teams", "conversations:read"],
  ["/hours", "Business hours", "conversations:read"],
  ["/saved-replies", "Saved replies", "conversations:read"],
  ["/keys", "API keys", "keys:write"],
  ["/sign-in", "Sign-in", "members:write"],
  ["/privacy", "Privacy", "privacy:read"],
  ["/usage", "Usage", "analytics:read"],
  ["/audit", "Audit log", "members:write"],
];

/** Returns the pages of the settings that the user may open. */
export function settingsTabs(): readonly (readonly [href: string, title: string, scope?: Scope])[] {
  return TABS.filter(([, , scope]) => scope === undefined || hasScope(scope));
}
