const words = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/));

const GREETINGS = words(`
  hi hello hey hiya heya howdy yo greetings morning afternoon evening
  hallo hi moin servus tag morgen abend bonjour bonsoir salut hola buenos buenas ciao salve buongiorno buonasera
  olá oi bom boa hoi dag goedemorgen goedemiddag goedenavond hej`);
const THANKS = words(`
  thanks thank thx ty cheers appreciated danke dankeschön merci gracias grazie obrigado obrigada bedankt dank`);
/** What may stand beside either, and says nothing by itself. */
const FILLERS = words(`
  there all everyone everybody again good day dear team support you so very much many a lot for the your help that is was this ok okay great
  perfect awesome nice cool got it and bye goodbye guten schönen vielen dir ihnen sehr liebes beaucoup à tous muchas mil días dias tardes noches
  mille molte tutti dia tarde noite muito hartelijk goede je u wel`);
/** Whoever writes more has something to ask. */
const MAX_WORDS = 8;
const MAX_SMALL_TALK_LENGTH = 100;

const WELCOMES: Record<string, string> = {
  en: "You're welcome!",
  de: "Gern geschehen!",
  fr: "Avec plaisir !",
  es: "¡De nada!",
  it: "Prego!",
  pt: "De nada!",
  nl: "Graag gedaan!",
};

/** What a message is that greets or thanks and asks nothing; undefined for any other. */
export function smallTalkOf(message: string): "greeting" | "thanks" | undefined {
  if (message.length > MAX_SMALL_TALK_LENGTH) return undefined;
  const said = message.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
  if (said.length > MAX_WORDS || !said.every((word) => GREETINGS.has(word) || THANKS.has(word) || FILLERS.has(word))) return undefined;
  if (said.some((word) => THANKS.has(word))) return "thanks";
  return said.some((word) => GREETINGS.has(word)) ? "greeting" : undefined;
}

/** How thanks are answered in a language, a BCP 47 tag; in English where it is another. */
export function replyToThanks(language: string): string {
  return WELCOMES[language.toLowerCase().split("-")[0]!] ?? WELCOMES["en"]!;
}

const either = (list: string): string => `(?:${list.trim().replaceAll(/\s*\n\s*/g, "|")})`;

/** What people are called in such a wish. An agent or a support may be part of a product: see SURELY_A_PERSON. */
const PERSON = `(?:(?:real|live|actual|human|customer|support|service|technical|sales|another) )*${either(`
  humans?|human being|persons?|people|someone|somebody|anyone|anybody|agents?|representatives?|reps?|operators?|advisors?|staff
  team(?: member)?|employee|manager|supervisor|(?:customer )?(?:service|support|care)`)}`;
const SURELY_A_PERSON = either(`
  (?:real|live|actual|human) (?:human|person|people|agents?|representative|rep|operator|support|being|assistance|help|chat)
  human|person|operator|representative|supervisor|customer service`);
const ARTICLE = "(?:(?:a|an|one of your|some|any|your|the|another|with|to|from|of|member) )*";

/** What may come before the wish itself: manners, and every way to say "I want to" or "can you". */
const LEAD = `(?:${either(`
  hi|hello|hey|ok|okay|yes|please|pls|sorry|thanks|thank you|well|just|still|now|but|and|so|really|honestly|actually|instead|kindly
  no(?= (?:i|id|let|please|just|talk|speak|connect|get)\\b)|never mind|help
  i|we|me|us|you|id|im|ill|can|could|may|might|will|would|do|should|have|be|is|it|there|am|going
  want|wanna|need|like|love|prefer|rather|wish|demand|ask|asking|request|requesting|try|trying|looking|able|allowed|possible
  let|get|go|to|for|how|where|a|any|way|directly|someone|somebody`)} )*`;
const AFTER = `(?: ${either(`
  please|pls|now|right now|instead|here|today|asap|directly|immediately|thanks|thank you|on the phone|by phone|over the phone
  at your company|(?:from|about|regarding|because|for|so that|who|that can) .*|to (?:help|solve|fix|sort|assist|discuss) .*`)})*`;

const MEET = `(?:talk(?:ing)?|speak(?:ing)?|chat(?:ting)?|get in touch|get through)(?: directly| now)? (?:to|with) ${ARTICLE}${PERSON}`;
const REACH = `(?:call|phone|reach|contact|message) ${ARTICLE}${PERSON}`;
const PASS_ON = `(?:connect|transfer|escalate|forward|redirect|pass|put|hand|switch|refer)(?: (?:me|us|this|it|through|over|on))* (?:to|with) ${ARTICLE}${PERSON}`;
const GIVE = `(?:(?:want|need|prefer|get|give|send|find|request|demand|like)(?: me| us| to have| to see)* )${ARTICLE}${SURELY_A_PERSON}`;
const BARE = `${ARTICLE}(?:${SURELY_A_PERSON}|agent|live (?:chat|support|agent)|customer (?:service|support)|support team)`;
const CALL_BACK = `(?:have |get |ask |tell )?(?:someone|somebody|anyone|${ARTICLE}(?:${SURELY_A_PERSON}|agent|manager))(?: please)?(?: to)? (?:call|contact|phone|email|reach|help|get back to) (?:me|us)(?: back)?`;
const AVAILABLE = `(?:is|are) (?:there )?${ARTICLE}${PERSON} (?:(?:that |who |whom )?(?:i|we) (?:can|could|may) (?:talk|speak|chat|write|turn) .*|(?:here|available|around|online)(?: .*)?)`;
const COULD_HELP = `(?:can|could|will|would|may) ${ARTICLE}${SURELY_A_PERSON} (?:please )?(?:help|call|contact|answer|assist) .*`;

const WISH = new RegExp(`^(?:${LEAD}(?:${[MEET, REACH, PASS_ON, GIVE, BARE, CALL_BACK].join("|")})${AFTER}|${AVAILABLE}|${COULD_HELP})$`);
/** A wish is said at the beginning or the end of a message, within a few words. */
const MAX_HANDOFF_INTENT_LENGTH = 1_000;
const MAX_CLAUSE_LENGTH = 160;

/** Whether a visitor asks, in English, to be put through to a person; a question about hand-off itself is none. */
export function wantsHuman(message: string): boolean {
  const plain = message.slice(0, MAX_HANDOFF_INTENT_LENGTH).toLowerCase().replaceAll(/['’`]/g, "");
  const clauses = plain.split(/[.!?;,:\n]+|\b(?:but|and|because|so)\b/).map((clause) => clause.replaceAll(/[^a-z0-9]+/g, " ").trim());
  return clauses.some((clause) => clause !== "" && clause.length <= MAX_CLAUSE_LENGTH && WISH.test(clause));
}
