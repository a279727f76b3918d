/** The relative luminance of a colour `#rrggbb`, as WCAG 2.2 defines it. */
function luminanceOf(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return channel <= 0.03928 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

/** The luminance of a background on which black and white text have the same contrast. */
const MIDDLE = 0.179;

/** Returns black or white, whichever has more contrast on a colour. */
export function textOn(hex: string): string {
  return luminanceOf(hex) > MIDDLE ? "#000000" : "#ffffff";
}

/** The contrast of two colours, from 1 to 21. */
export function contrastOf(one: string, other: string): number {
  const [dark, light] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

/** The contrast that WCAG 2.2 AA requires for text. */
const READABLE = 4.5;
const STEPS = 20;

/** Returns a colour that is readable on a background: the given one, mixed with as little black or white as it takes. */
export function readableOn(background: string, hex: string): string {
  const target = textOn(background);
  for (let step = 0; step < STEPS; step++) {
    const mixed = mix(hex, target, step / STEPS);
    if (contrastOf(mixed, background) >= READABLE) return mixed;
  }
  return target;
}

function mix(from: string, to: string, part: number): string {
  const channels = [1, 3, 5].map((at) => {
    const [a, b] = [from, to].map((hex) => Number.parseInt(hex.slice(at, at + 2), 16));
    return Math.round(a! + (b! - a!) * part)
      .toString(16)
      .padStart(2, "0");
  });
  return `#${channels.join("")}`;
}
