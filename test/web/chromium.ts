import { existsSync } from "node:fs";

/** The paths at which systems install it. The headless shell comes first, because it takes half the time. */
const USUAL_PLACES = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome-stable",
  "/usr/bin/google-chrome",
  "/snap/bin/chromium",
  "/opt/homebrew/bin/chromium",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** The Chromium of this machine; undefined where there is none. */
export function findChromium(): string | undefined {
  return [process.env["CHROMIUM_PATH"] ?? "", ...USUAL_PLACES].find((path) => path !== "" && existsSync(path));
}
