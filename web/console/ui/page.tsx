import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
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

/** A search field, which searches when the user pauses typing or presses Enter. */
export function SearchField({ label, onSearch }: { label: string; onSearch: (q: string) => void }) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const searchIn = (ms: number, input: HTMLInputElement) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onSearch(input.value.trim()), ms);
  };
  return (
    <div class="search">
      <Icon name="search" size={16} />
      <input
        type="search"
        aria-label={label}
        placeholder="Search"
        data-search
        onInput={({ currentTarget }) => searchIn(TYPING_PAUSE_MS, currentTarget)}
        onKeyDown={(event) => {
          if (event.key === "Enter") searchIn(0, event.currentTarget);
          if (event.key === "Escape") event.currentTarget.blur();
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
