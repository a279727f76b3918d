/** The crawler's name in robots.txt and robots directives. */
export const BOT_TOKEN = "SupportAgentBot";

/** The directives of a page for crawlers. */
export interface RobotsDirectives {
  noindex: boolean;
  nofollow: boolean;
}

/** Directives with a value after a colon. Any other name before a colon is that of a crawler. */
const WITH_VALUE = /^(?:unavailable_after|max-snippet|max-image-preview|max-video-preview)$/i;

/** The directives of X-Robots-Tag headers, joined by commas, that apply to all crawlers or to ours. */
export function directivesOfHeader(header: string | null): RobotsDirectives {
  const found: RobotsDirectives = { noindex: false, nofollow: false };
  let isForUs = true;
  for (const part of (header ?? "").split(",")) {
    const named = /^\s*([\w-]+)\s*:(.*)$/s.exec(part);
    const robot = named && !WITH_VALUE.test(named[1]!) ? named[1]! : undefined;
    // A crawler's name applies to the directives after it, up to the next name.
    if (robot !== undefined) isForUs = isOurs(robot);
    if (isForUs) add(found, robot === undefined ? part : named![2]!);
  }
  return found;
}

/** The directives of a page's meta elements. */
export function directivesOfMeta(metas: { name: string; content: string }[]): RobotsDirectives {
  const found: RobotsDirectives = { noindex: false, nofollow: false };
  for (const { name, content } of metas) if (isOurs(name)) for (const part of content.split(",")) add(found, part);
  return found;
}

function isOurs(robot: string): boolean {
  return ["robots", "*", BOT_TOKEN.toLowerCase()].includes(robot.trim().toLowerCase());
}

function add(found: RobotsDirectives, part: string): void {
  const directive = part.trim().toLowerCase();
  if (directive === "noindex" || directive === "none") found.noindex = true;
  if (directive === "nofollow" || directive === "none") found.nofollow = true;
}
