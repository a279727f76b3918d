import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Skeleton } from "./states.tsx";
import { showError } from "./toast.tsx";

/**
 * Loads a module once it is wanted. Returns undefined until it is loaded.
 * @param onFailure called if it cannot be loaded. It is tried again when it is wanted the next time.
 */
export function useModule<Module>(load: () => Promise<Module>, isWanted = true, onFailure?: () => void): Module | undefined {
  const [module, setModule] = useState<Module>();
  useEffect(() => {
    if (!isWanted || module) return;
    load().then(setModule, (error: unknown) => {
      showError(error);
      onFailure?.();
    });
  }, [isWanted]);
  return module;
}

/** A part of a page, whose code is loaded when it is first shown. */
export function Lazy({ load }: { load: () => Promise<ComponentType> }) {
  const module = useModule(async () => ({ Part: await load() }));
  return module ? <module.Part /> : <Skeleton />;
}
