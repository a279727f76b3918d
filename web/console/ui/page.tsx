import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useShortcuts } from "../keyboard.ts";
import { Icon } from "./icon.tsx";

/** A page with a title, actions and content. */
export function PageFrame({ title, actions, children }: { title: string; actions?: ComponentChildren; children: ComponentChildren }) {
  return (
    <>
      <header class="page-header">
        <h1>{title}</h1>
        {actions}
      </header>
      <div class="page-body stack">{children}</div>
    </>
  );
}

const TYPING_PAUSE_MS = 120;

interface SearchProps {
  label: string;
  /** What is searched for. */
  q?: string | undefined;
  onSearch: (q: string) => void;
  /** Moves the focus to the hits: called on Enter and ↓. */
  toHits?: () => void;
}

/** A search field, which searches when the user pauses typing or presses Enter. Esc clears it, and `/` moves the focus to it. */
export function SearchField({ label, q = "", onSearch, toHits }: SearchProps) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  // By the end of the pause, another view may be shown.
  const latest = useRef(onSearch);
  latest.current = onSearch;
  useShortcuts({ "/": focusSearch });
  const input = useRef<HTMLInputElement>(null);
  // The way back may search for something else. A text that is being written stays as it is.
  useLayoutEffect(() => {
    if (input.current!.value.trim() !== q) input.current!.value = q;
  }, [q]);
  const search = () => {
    clearTimeout(timer.current);
    latest.current(input.current!.value.trim());
  };
  return (
    <div class="search">
      <Icon name="search" size={16} />
      <input
        ref={input}
        type="search"
        aria-label={label}
        placeholder="Search"
        data-search
        onInput={() => {
          clearTimeout(timer.current);
          timer.current = setTimeout(search, TYPING_PAUSE_MS);
        }}
        onKeyDown={(event) => {
          if (event.isComposing) return;
          const field = event.currentTarget;
          if (event.key === "Enter" || (event.key === "ArrowDown" && toHits)) {
            event.preventDefault();
            search();
            toHits?.();
          }
          if (event.key === "Escape") {
            event.preventDefault();
            if (field.value === "") return field.blur();
            field.value = "";
            search();
          }
        }}
      />
    </div>
  );
}

/** Moves the focus to the search field of the page. */
export function focusSearch(): void {
  document.querySelector<HTMLInputElement>("[data-search]")?.focus();
}

/** Downloads a file to the user's computer. */
export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
