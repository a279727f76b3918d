import type { ComponentChildren } from "preact";

/** A column. A `number` is aligned to the right, a `heading` names its row, and the title of an `action` is read aloud only. */
export type Column<Row> = readonly [title: string, cell: (row: Row) => ComponentChildren, kind?: "number" | "heading" | "action"];

interface Props<Row> {
  /** The name of the table for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf?: (row: Row) => string | number;
}

export function Table<Row>({ label, columns, rows, keyOf }: Props<Row>) {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(([title, , kind]) => (
              <th key={title} scope="col" class={kind === "number" ? kind : ""}>
                {kind === "action" ? <span class="sr-only">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={keyOf?.(row) ?? at}>
              {columns.map(([title, cell, kind]) =>
                kind === "heading" ? (
                  <th key={title} scope="row">
                    {cell(row)}
                  </th>
                ) : (
                  <td key={title} class={kind === "number" ? kind : ""}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
