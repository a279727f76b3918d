import type { ComponentType, FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { CodeError } from "../api.ts";
import { useQuery } from "../query.ts";
import { Loaded } from "./states.tsx";
import { showError } from "./toast.tsx";

/** Loads code. @throws CodeError, unless the browser is offline. */
export async function loadCode<Code>(load: () => Promise<Code>): Promise<Code> {
  try {
    return await load();
  } catch (error) {
    throw navigator.onLine ? new CodeError("The console was updated, or its code did not arrive. Reload the page.") : error;
  }
}

/**
 * Loads a module once it is wanted. Returns undefined until it is loaded.
 * @param onFailure called if it cannot be loaded. It is tried again when it is wanted the next time.
 */
export function useModule<Module>(load: () => Promise<Module>, isWanted = true, onFailure?: () => void): Module | undefined {
  const [module, setModule] = useState<Module>();
  useEffect(() => {
    if (!isWanted || module) return;
    loadCode(load).then(setModule, (error: unknown) => {
      showError(error);
      onFailure?.();
    });
  }, [isWanted]);
  return module;
}

/** Returns a component for a part of a page, whose code is loaded when it is first shown. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): FunctionComponent<Props> {
  let View: ComponentType<Props> | undefined;
  return (props: Props) => {
    const query = useQuery("code", async () => (View ??= await loadCode(load)));
    // Code that was loaded before is shown at once.
    return <Loaded query={{ ...query, data: View }}>{(Part) => <Part {...props} />}</Loaded>;
  };
}
