import { Drawing, Icon as SharedIcon, type IconName as SharedName } from "../../shared/icons.tsx";

/** The icons that only the console uses. */
const PATHS = {
  inbox: "M3.5 13.5h5l1.5 2.5h4l1.5-2.5h5M5.5 5h13l2 8.5V19h-17v-5.5z",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l4.5 4.5",
  info: "M12 11v5.5M12 7.5v.01M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z",
  chart: "M4 20V4M4 20h16M8.5 16v-5M13 16V7M17.5 16v-8",
  book: "M5 4.5h10.5A3.5 3.5 0 0 1 19 8v11.5H8A3 3 0 0 1 5 16.5zM5 16.5a3 3 0 0 1 3-3h11",
  play: "M7 4.5l12 7.5-12 7.5z",
  webhook: "M6 4h12v6H6zM12 10v4M6 20a3 3 0 1 1 3-3h6a3 3 0 1 1 3 3",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM9 19.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
  more: "M4 7h16M4 12h16M4 17h16",
  case: "M9 4h6v3H9zM9 5.5H6V20h12V5.5h-3M8.5 13.5l2.5 2.5 4.5-4.5",
  bell: "M6 16.5V11a6 6 0 1 1 12 0v5.5l1.5 2h-15zM10 21.5h4",
  signOut: "M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9",
} as const;

export type IconName = keyof typeof PATHS | SharedName;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return name in PATHS ? (
    <Drawing path={PATHS[name as keyof typeof PATHS]} size={size} />
  ) : (
    <SharedIcon name={name as SharedName} size={size} />
  );
}
