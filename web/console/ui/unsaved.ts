import { useEffect } from "preact/hooks";

const CHANGED = "form[data-changed]";

/** Asks, if a form of the page has changes, whether they may be lost. */
export function mayLeave(): boolean {
  return !document.querySelector(CHANGED) || confirm("Leave without saving? What you changed is lost.");
}

/**
 * Asks before a link or the way back leads away from a form of the page that has changes, and before the page is closed. A form marks
 * when it was changed, until it is saved. Dialogs ask by themselves.
 */
export function useUnsavedChanges(): void {
  useEffect(() => {
    const listeners = new AbortController();
    const listen = <Name extends keyof DocumentEventMap>(name: Name, run: (event: DocumentEventMap[Name]) => void) =>
      document.addEventListener(name, run, { capture: true, signal: listeners.signal });
    const formOf = ({ target }: Event) => (target as Element).closest<HTMLFormElement>(".page-body form:not(dialog form)");
    let changedAt = "";
    listen("input", (event) => {
      formOf(event)?.setAttribute("data-changed", `${event.timeStamp}`);
      changedAt = location.href;
    });
    listen("reset", (event) => formOf(event)?.removeAttribute("data-changed"));
    listen("click", (event) => {
      if (!(event.target as Element).closest("a[href]:not([target])") || mayLeave()) return;
      event.preventDefault();
      event.stopPropagation();
    });
    // Links and the search, which have asked, cause no such event. It comes before the one that shows another page.
    const onBack = () => {
      if (!mayLeave()) history.pushState(null, "", changedAt);
    };
    addEventListener("popstate", onBack, { signal: listeners.signal });
    const onUnload = (event: BeforeUnloadEvent) => {
      if (document.querySelector(CHANGED)) event.preventDefault();
    };
    addEventListener("beforeunload", onUnload, { signal: listeners.signal });
    return () => listeners.abort();
  }, []);
}
