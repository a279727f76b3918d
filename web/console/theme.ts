import { signal } from "@preact/signals";

export const THEMES = [
  ["system", "System theme"],
  ["light", "Light theme"],
  ["dark", "Dark theme"],
] as const;

export type Theme = (typeof THEMES)[number][0];

/** The key in localStorage. */
const KEY = "console.theme";

/** The colours that the user chose for this browser. */
export const theme = signal<Theme>("system");

export function setTheme(chosen: Theme): void {
  theme.value = chosen;
  localStorage.setItem(KEY, chosen);
  show(chosen);
}

/** Shows the colours that were chosen earlier. */
export function startTheme(): void {
  const kept = localStorage.getItem(KEY);
  theme.value = THEMES.find(([name]) => name === kept)?.[0] ?? "system";
  show(theme.value);
}

function show(chosen: Theme): void {
  document.documentElement.style.colorScheme = chosen === "system" ? "" : chosen;
}
