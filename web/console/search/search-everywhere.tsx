import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { openDialogs } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { useModule } from "../ui/lazy.tsx";

const isOpen = signal(false);

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** The search over the whole console, which Ctrl K opens on every page, also while the user types. Its code is loaded when it is first opened. */
export function SearchEverywhere() {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      // On a Mac, Ctrl K is an editing key of text fields.
      const isWanted = (isMac ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey) && !event.altKey && !event.shiftKey;
      if (!isWanted || event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      if (openDialogs.peek().length === 0) isOpen.value = true;
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
  const module = useModule(() => import("./search-dialog.tsx"), isOpen.value);
  return isOpen.value && module ? <module.SearchDialog onClose={() => (isOpen.value = false)} /> : null;
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
