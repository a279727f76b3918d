import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../../client/index.ts";
import type { Change } from "../../src/events/live-protocol.ts";
import { isLive, useChanges } from "./live.ts";

export interface Query<Data> {
  /** The last result, which stays while the query is repeated. */
  data: Data | undefined;
  error: unknown;
  isLoading: boolean;
  reload: () => void;
  /** Replaces the data, to show a change before the service confirms it. */
  set: (data: Data) => void;
}

const POLL_MS = 30_000;

/**
 * Reads the data of a page. With `watch` it is read again after the changes for which that returns true or, while the service pushes no
 * changes, every half minute while the page is visible.
 * @param key identifies the data. When it changes, the earlier data is discarded.
 */
export function useQuery<Data>(
  key: string,
  read: (signal: AbortSignal) => Promise<Data>,
  watch?: (change: Change) => boolean,
): Query<Data> {
  const [state, setState] = useState<{ key: string; data?: Data; error?: unknown }>({ key });
  const current = useRef<AbortController | undefined>(undefined);
  const latest = useRef(read);
  latest.current = read;
  const load = useCallback(async () => {
    current.current?.abort();
    const controller = new AbortController();
    current.current = controller;
    try {
      const data = await latest.current(controller.signal);
      if (!controller.signal.aborted) setState({ key, data });
    } catch (error) {
      if (controller.signal.aborted) return;
      setState((before) => ({ ...(before.key === key ? before : { key }), error }));
      // A busy service says when to try again, as for a search that indexes the conversations first.
      if (!(error instanceof ApiError) || error.retryAfter === null) return;
      const again = setTimeout(() => void load(), error.retryAfter * 1000);
      controller.signal.addEventListener("abort", () => clearTimeout(again));
    }
  }, [key]);
  useEffect(() => {
    void load();
    return () => current.current?.abort();
  }, [load]);
  usePolling(() => void load(), watch !== undefined);
  useChanges(
    (change) => watch?.(change) ?? false,
    () => void load(),
    [load],
  );
  const isCurrent = state.key === key;
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: !isCurrent || (state.data === undefined && state.error === undefined),
    reload: () => void load(),
    set: (data) => setState({ key, data }),
  };
}

function usePolling(poll: () => void, isOn: boolean): void {
  const latest = useRef(poll);
  latest.current = poll;
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setInterval(() => {
      if (!isLive.peek() && document.visibilityState === "visible") latest.current();
    }, POLL_MS);
    const onOnline = () => latest.current();
    addEventListener("online", onOnline);
    return () => {
      clearInterval(timer);
      removeEventListener("online", onOnline);
    };
  }, [isOn]);
}
