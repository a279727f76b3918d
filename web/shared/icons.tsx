import type { VNode } from "preact";

/** Paths in a square of 24, stroked with a width of 1.75 in the colour of the text. */
const PATHS = {
  close: "M6 6l12 12M18 6L6 18",
  back: "M15 5l-7 7 7 7",
  send: "M12 20V5M5.5 11.5L12 5l6.5 6.5",
  history: "M3.5 12a8.5 8.5 0 1 0 2.7-6.2L3.5 8.2M3.5 3.5v4.7h4.7M12 7.5V12l3.2 2",
  compose: "M12 20h8.5M4 20l1-4L16.2 4.8a1.9 1.9 0 0 1 2.7 0l.3.3a1.9 1.9 0 0 1 0 2.7L8 19z",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5c.6-4 3.6-6 7.5-6s6.9 2 7.5 6",
  up: "M7 21H4.8A1.8 1.8 0 0 1 3 19.2v-6.4A1.8 1.8 0 0 1 4.8 11H7m0 10V11m0 10h9.8a2.4 2.4 0 0 0 2.4-2l1.2-7a2.4 2.4 0 0 0-2.4-2.8H14V4.9C14 3.8 13.2 3 12.2 3L7 11",
  down: "M17 3h2.2A1.8 1.8 0 0 1 21 4.8v6.4a1.8 1.8 0 0 1-1.8 1.8H17M17 3v10M17 3H7.2a2.4 2.4 0 0 0-2.4 2l-1.2 7A2.4 2.4 0 0 0 6 14.8H10v4.3c0 1.1.8 1.9 1.8 1.9L17 13",
  arrowDown: "M12 5v14M5.5 12.5L12 19l6.5-6.5",
  mail: "M4 6h16v12H4zM4 7l8 6 8-6",
  check: "M5 12.5l4.5 4.5L19 7.5",
  attach: "M19.5 11.5l-7.6 7.6a4.6 4.6 0 0 1-6.5-6.5l8-8a3.1 3.1 0 0 1 4.4 4.4l-8 8a1.6 1.6 0 0 1-2.2-2.2l7.2-7.2",
  file: "M13.5 3.5H7A1.5 1.5 0 0 0 5.5 5v14A1.5 1.5 0 0 0 7 20.5h10a1.5 1.5 0 0 0 1.5-1.5V8.5zM13.5 3.5v5h5",
  alert: "M12 8v5M12 16.5v.01M12 3.5l9 16H3z",
} as const;

export type IconName = keyof typeof PATHS;

/** A decorative icon, hidden from screen readers: the element around it needs a label. */
export function Icon({ name, size = 20 }: { name: IconName; size?: number }): VNode {
  return <Drawing path={PATHS[name]} size={size} />;
}

/** @param path the path of an SVG, in a square of 24. */
export function Drawing({ path, size }: { path: string; size: number }): VNode {
  return (
    <svg
      class="svg"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="1.75"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={path} />
    </svg>
  );
}
