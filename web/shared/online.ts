import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Whether the browser is online. */
export function useOnline(): boolean {
  const isOnline = useSignal(navigator.onLine);
  useEffect(() => {
    const update = () => (isOnline.value = navigator.onLine);
    addEventListener("online", update);
    addEventListener("offline", update);
    return () => {
      removeEventListener("online", update);
      removeEventListener("offline", update);
    };
  }, []);
  return isOnline.value;
}
