import { useLayoutEffect, useRef } from "preact/hooks";

/** All shortcuts, by where they work, with what they do. */
export const SHORTCUTS = {
  "On every page": { "/": "Search, or ask in the playground", "?": "List the keys" },
  "In a workspace": { "Ctrl K": "Search everywhere; on a Mac, ⌘ K" },
  "In the inbox": {
    j: "Next conversation",
    k: "Previous conversation",
    Escape: "Back to the list",
    z: "Undo the latest resolution",
    v: "Select the conversation",
  },
  "In the inbox, with Shift": {
    V: "Select all that are loaded",
    E: "Resolve the selected ones",
    O: "Reopen the selected ones",
    T: "Tag the selected ones",
    H: "Snooze the selected ones",
  },
  "In an open conversation": {
    r: "Reply",
    n: "Write a note",
    g: "Suggest a reply",
    s: "Summarise, or hide the summary",
    e: "Resolve",
    h: "Snooze",
    b: "Hand back to the agent",
    m: "Assign to me, or unassign",
    t: "Add a tag",
    c: "Make it a case of an evaluation",
    i: "Show or hide details",
    a: "Approve the tool call",
    x: "Decline the tool call",
  },
} as const;

type Groups = typeof SHORTCUTS;
type Key = { [Where in keyof Groups]: keyof Groups[Where] }[keyof Groups];

/** These keys work again and again while they are held. */
const REPEATING = new Set(["j", "k"]);

/** Open dialogs and menus, which handle keys such as Escape themselves. */
const OPEN = "dialog[open], [popover=auto]:popover-open";
const FIELDS = "input:not([type=checkbox]), textarea, select, [contenteditable], [role=menu], dialog";

/** The shortcuts of the components that are shown, in the order in which they were added. */
let active: readonly { key: Key; run: () => void }[] = [];

/** Adds shortcuts while a component is shown. They are ignored while the user types, or a dialog or menu is open. */
export function useShortcuts(map: Partial<Record<Key, () => void>>): void {
  const latest = useRef(map);
  latest.current = map;
  const keys = Object.keys(map).join(" ");
  // A key that is pressed as soon as the component is shown already counts.
  useLayoutEffect(() => {
    const own: typeof active = (Object.keys(latest.current) as Key[]).map((key) => ({ key, run: () => latest.current[key]?.() }));
    active = [...active, ...own];
    return () => {
      active = active.filter((shortcut) => !own.includes(shortcut));
    };
  }, [keys]);
}

/** Listens for shortcuts. If several components use the same key, the one added last handles it. */
export function startShortcuts(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector(OPEN) || (event.target as Element).closest?.(FIELDS)) return;
    const shortcut = active.findLast(({ key }) => key === event.key);
    if (!shortcut) return;
    event.preventDefault();
    if (!event.repeat || REPEATING.has(event.key)) shortcut.run();
  });
}
