import type { ComponentChildren } from "preact";
import { CodeError, errorText } from "../api.ts";
import type { Query } from "../query.ts";
import { hasScope, type Scope, session } from "../session.ts";
import { Button } from "./button.tsx";

/** An empty state: what will be here, and what the user can do. */
export function Empty({ title, children, action }: { title: string; children?: ComponentChildren; action?: ComponentChildren }) {
  return (
    <div class="state">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  );
}

export function ErrorState({ error, retry }: { error: unknown; retry: () => void }) {
  const mustReload = error instanceof CodeError;
  return (
    <div class="state" role="alert">
      <h2>This could not be loaded</h2>
      <p>{errorText(error)}</p>
      <Button onClick={mustReload ? () => location.reload() : retry}>{mustReload ? "Reload" : "Try again"}</Button>
    </div>
  );
}

/** A placeholder for content that is being loaded. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  return (
    <div class="skeleton" role="progressbar" aria-label="Loading">
      {Array.from({ length: rows }, (_, at) => (
        <span key={at} style={{ width: `${90 - ((at * 37) % 45)}%` }} />
      ))}
    </div>
  );
}

/** Renders the data of a query, or its state. Data that was read before stays visible while the query is repeated, even if that fails. */
export function Loaded<Data>({
  query,
  rows,
  children,
}: {
  query: Omit<Query<Data>, "set">;
  rows?: number;
  children: (data: Data) => ComponentChildren;
}) {
  const { data, error, isLoading, reload } = query;
  if (data !== undefined)
    return (
      <>
        {error !== undefined && (
          <p class="banner warning" role="status">
            This may be out of date. {errorText(error)}{" "}
            <Button variant="quiet" onClick={reload}>
              Try again
            </Button>
          </p>
        )}
        {children(data)}
      </>
    );
  return isLoading ? <Skeleton rows={rows ?? 6} /> : <ErrorState error={error} retry={reload} />;
}

/** Renders its children if the key has a scope; otherwise it says that the scope is missing. */
export function NeedsScope({ scope, children }: { scope: Scope; children: ComponentChildren }) {
  if (hasScope(scope)) return <>{children}</>;
  const key = session.value?.kind === "workspace" ? ` “${session.value.key.name}”` : "";
  return (
    <Empty title="Your key does not allow this">
      This page needs the scope <code>{scope}</code>, which the key{key} does not have. Sign in with another key, or ask for one.
    </Empty>
  );
}
