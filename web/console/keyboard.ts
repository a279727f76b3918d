import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

interface Shortcut {
  key: string;
  label: string;
  run: () => void;
  repeats: boolean;
}

/** The shortcuts of the open page. */
export const shortcuts = signal<readonly Shortcut[]>([]);

const FIELDS = "input, textarea, select, [contenteditable], [role=menu], dialog";

/** What a key does. Only a key that `repeats` does it again and again while it is held. */
export type Shortcuts = Record<string, [label: string, run: () => void, repeats?: boolean]>;

/** Adds shortcuts while a component is shown. They are ignored while the user types or a dialog is open. */
export function useShortcuts(map: Shortcuts, isActive = true): void {
  const latest = useRef(map);
  latest.current = map;
  const keys = Object.entries(map)
    .map(([key, [label]]) => `${key} ${label}`)
    .join("\n");
  // A key that is pressed as soon as the component is shown already counts.
  useLayoutEffect(() => {
    if (!isActive) return undefined;
    const own = Object.entries(latest.current).map(([key, [label, , repeats = false]]) => {
      return { key, label, repeats, run: () => latest.current[key]?.[1]() };
    });
    shortcuts.value = [...shortcuts.peek(), ...own];
    return () => {
      shortcuts.value = shortcuts.peek().filter((shortcut) => !own.includes(shortcut));
    };
  }, [keys, isActive]);
}

/** Listens for shortcuts. If several components use the same key, the one added last handles it. */
export function startShortcuts(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]") || (event.target as Element).closest?.(FIELDS)) return;
    const shortcut = shortcuts.peek().findLast(({ key }) => key === event.key);
    if (!shortcut) return;
    event.preventDefault();
    if (!event.repeat || shortcut.repeats) shortcut.run();
  });
}
