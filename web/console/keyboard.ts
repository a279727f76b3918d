import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

interface Shortcut {
  key: string;
  label: string;
  run: () => void;
}

/** What the keys do on the open page, for the list of them. */
export const shortcuts = signal<readonly Shortcut[]>([]);

const FIELDS = "input, textarea, select, [contenteditable], [role=menu], dialog";

/** Gives keys a meaning while a part of a page is shown. They do nothing while somebody types, or a dialog is open. */
export function useShortcuts(map: Record<string, [label: string, run: () => void]>, isActive = true): void {
  const latest = useRef(map);
  latest.current = map;
  const keys = Object.entries(map)
    .map(([key, [label]]) => `${key} ${label}`)
    .join("\n");
  useEffect(() => {
    if (!isActive) return undefined;
    const own = Object.entries(latest.current).map(([key, [label]]) => ({ key, label, run: () => latest.current[key]?.[1]() }));
    shortcuts.value = [...shortcuts.peek(), ...own];
    return () => {
      shortcuts.value = shortcuts.peek().filter((shortcut) => !own.includes(shortcut));
    };
  }, [keys, isActive]);
}

/** Listens for the keys of all parts of the page; a later part's meaning of a key comes first. */
export function startShortcuts(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]") || (event.target as Element).closest?.(FIELDS)) return;
    const shortcut = shortcuts.peek().findLast(({ key }) => key === event.key);
    if (!shortcut) return;
    event.preventDefault();
    shortcut.run();
  });
}
