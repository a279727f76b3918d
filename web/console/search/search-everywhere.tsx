import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { openDialogs } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { useModule } from "../ui/lazy.tsx";

const isOpen = signal(false);
/** What the user wrote after Ctrl K and before the dialog was shown. */
let typed = "";

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** Whether a key opens the search. On a Mac, Ctrl K is an editing key of text fields. */
function isSearchKey({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean {
  const isHeld = isMac ? metaKey && !ctrlKey : ctrlKey && !metaKey;
  return isHeld && !altKey && !shiftKey && key.toLowerCase() === "k";
}

const loadDialog = () => import("./search-dialog.tsx");

/**
 * The search over the whole console, which Ctrl K opens on every page, also while the user types. Its code is loaded after the page.
 * Keys that are pressed before its dialog is there are written into its field: they could resolve the open conversation otherwise.
 */
export function SearchEverywhere() {
  useEffect(() => void loadDialog().catch(() => undefined), []);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isComing = isOpen.peek() && openDialogs.peek().length === 0;
      if (!isComing && !isSearchKey(event)) return;
      event.preventDefault();
      event.stopPropagation();
      if (isComing && event.key === "Escape") close();
      else if (isComing && event.key.length === 1 && !isSearchKey(event)) typed += event.key;
      else if (openDialogs.peek().length === 0) isOpen.value = true;
    };
    addEventListener("keydown", onKeyDown, { capture: true });
    return () => removeEventListener("keydown", onKeyDown, { capture: true });
  }, []);
  const module = useModule(loadDialog, isOpen.value, close);
  return isOpen.value && module ? <module.SearchDialog takeTyped={takeTyped} onClose={close} /> : null;
}

function close(): void {
  isOpen.value = false;
  typed = "";
}

function takeTyped(): string {
  const text = typed;
  typed = "";
  return text;
}

/** The button that opens the search. */
export function SearchButton({ onOpen }: { onOpen?: () => void }) {
  const open = () => {
    onOpen?.();
    isOpen.value = true;
  };
  return (
    <button type="button" class="search-button" aria-keyshortcuts={isMac ? "Meta+K" : "Control+K"} onClick={open}>
      <Icon name="search" size={18} />
      <span>Search</span>
      <kbd>{isMac ? "⌘ K" : "Ctrl K"}</kbd>
    </button>
  );
}
