import { useEffect, useState } from "preact/hooks";
import { showError } from "./toast.tsx";

/** Loads a module once it is wanted. Returns undefined until it is loaded. */
export function useModule<Module>(load: () => Promise<Module>, isWanted = true): Module | undefined {
  const [module, setModule] = useState<Module>();
  useEffect(() => {
    if (isWanted && !module) void load().then(setModule, showError);
  }, [isWanted]);
  return module;
}
