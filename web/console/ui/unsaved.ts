import { useEffect } from "preact/hooks";

const CHANGED = "form[data-changed]";

/** Asks before a link leads away from a form of the page that has changes, and before the page is closed. Dialogs ask by themselves. */
export function useUnsavedChanges(): void {
  useEffect(() => {
    const listeners = new AbortController();
    const listen = <Name extends keyof DocumentEventMap>(name: Name, run: (event: DocumentEventMap[Name]) => void) =>
      document.addEventListener(name, run, { capture: true, signal: listeners.signal });
    const formOf = ({ target }: Event) => (target as Element).closest<HTMLFormElement>(".page-body form:not(dialog form)");
    listen("input", (event) => formOf(event)?.setAttribute("data-changed", ""));
    for (const name of ["submit", "reset"] as const) listen(name, (event) => formOf(event)?.removeAttribute("data-changed"));
    listen("click", (event) => {
      const leaves = (event.target as Element).closest("a[href]:not([target])") && document.querySelector(CHANGED);
      if (!leaves || confirm("Leave without saving? What you changed is lost.")) return;
      event.preventDefault();
      event.stopPropagation();
    });
    const onUnload = (event: BeforeUnloadEvent) => {
      if (document.querySelector(CHANGED)) event.preventDefault();
    };
    addEventListener("beforeunload", onUnload, { signal: listeners.signal });
    return () => listeners.abort();
  }, []);
}
