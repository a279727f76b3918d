import type { Settings } from "./host.ts";

/** Creates the button that opens the chat. The panel adds its text and the number of new replies. */
export function createLauncher(position: Settings["appearance"]["position"], label: string): HTMLButtonElement {
  const button = document.createElement("button");
  button.className = `launcher ${position}`;
  button.ariaLabel = label;
  button.ariaExpanded = "false";
  button.append(document.createElement("i"));
  return button;
}
