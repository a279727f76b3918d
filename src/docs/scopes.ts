/** What telling scopes needs of a document. */
interface ScopedApi {
  paths?: Record<string, object> | undefined;
}

interface ScopedOperation {
  description?: string;
  "x-scope"?: string;
}

/** Says in each operation's description, too, which scope it needs: viewers and generators show no extensions. */
export function tellScopes({ paths }: ScopedApi): void {
  for (const methods of Object.values(paths ?? {})) {
    for (const operation of Object.values<ScopedOperation>({ ...methods })) {
      const scope = operation["x-scope"];
      if (scope) operation.description = [operation.description, `Scope: \`${scope}\`.`].filter(Boolean).join(" ");
    }
  }
}
