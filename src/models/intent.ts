import { wordSet } from "../text/terms.ts";

const GREETINGS = wordSet(`
  hi hello hey hiya heya howdy yo greetings morning afternoon evening
  hallo hi moin servus tag morgen abend bonjour bonsoir salut hola buenos buenas ciao salve buongiorno buonasera
  olá oi bom boa hoi dag goedemorgen goedemiddag goedenavond hej`);
const THANKS = wordSet(`
  thanks thank thx ty cheers appreciated danke dankeschön merci gracias grazie obrigado obrigada bedankt dank`);
/** Words that may come with either, and mean nothing by themselves. */
const FILLERS = wordSet(`
  there all everyone everybody again good day dear team support you so very much many a lot for the your help that is was this ok okay great
  perfect awesome nice cool got it and bye goodbye guten schönen vielen dir ihnen sehr liebes beaucoup à tous muchas mil días dias tardes noches
  mille molte tutti dia tarde noite muito hartelijk goede je u wel`);
const MAX_SMALL_TALK_WORDS = 8;
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

/** Whether a message only greets or thanks; undefined where it asks anything. */
export function smallTalkOf(message: string): "greeting" | "thanks" | undefined {
  if (message.length > MAX_SMALL_TALK_LENGTH) return undefined;
  const messageWords = message.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
  if (
    messageWords.length > MAX_SMALL_TALK_WORDS ||
    !messageWords.every((word) => GREETINGS.has(word) || THANKS.has(word) || FILLERS.has(word))
  )
    return undefined;
  if (messageWords.some((word) => THANKS.has(word))) return "thanks";
  return messageWords.some((word) => GREETINGS.has(word)) ? "greeting" : undefined;
}

/** The reply to thanks in a language, given as a BCP 47 tag; in English where it is not known. */
export function replyToThanks(language: string): string {
  return WELCOMES[language.toLowerCase().split("-")[0]!] ?? WELCOMES["en"]!;
}

const either = (list: string): string => `(?:${list.trim().replaceAll(/\s*\n\s*/g, "|")})`;

/*
 * A request for a human, in English: an optional LEAD_IN ("hi, I would like to"), one of the request forms, an optional
 * CLOSING ("please"). Anything else in the clause makes it a question about something, as "how does hand-off work?".
 */

/** An "agent" or "support" may also be part of the product: where that is likely, CLEARLY_A_PERSON is used instead. */
const PERSON = `(?:(?:real|live|actual|human|customer|support|service|technical|sales|another) )*${either(`
  humans?|human being|persons?|people|someone|somebody|anyone|anybody|agents?|representatives?|reps?|operators?|advisors?|staff
  team(?: member)?|employee|manager|supervisor|(?:customer )?(?:service|support|care)`)}`;
const CLEARLY_A_PERSON = either(`
  (?:real|live|actual|human) (?:human|person|people|agents?|representative|rep|operator|support|being|assistance|help|chat)
  human|person|operator|representative|supervisor|customer service`);
const ARTICLE = "(?:(?:a|an|one of your|some|any|your|the|another|with|to|from|of|member) )*";

/** Politeness, and every way to say "I want to" or "can you". */
const LEAD_IN = `(?:${either(`
  hi|hello|hey|ok|okay|yes|please|pls|sorry|thanks|thank you|well|just|still|now|but|and|so|really|honestly|actually|instead|kindly
  no(?= (?:i|id|let|please|just|talk|speak|connect|get)\\b)|never mind|help
  i|we|me|us|you|id|im|ill|can|could|may|might|will|would|do|should|have|be|is|it|there|am|going
  want|wanna|need|like|love|prefer|rather|wish|demand|ask|asking|request|requesting|try|trying|looking|able|allowed|possible
  let|get|go|to|for|how|where|a|any|way|directly|someone|somebody`)} )*`;
const CLOSING = `(?: ${either(`
  please|pls|now|right now|instead|here|today|asap|directly|immediately|thanks|thank you|on the phone|by phone|over the phone
  at your company|(?:from|about|regarding|because|for|so that|who|that can) .*|to (?:help|solve|fix|sort|assist|discuss) .*`)})*`;

const TALK_TO = `(?:talk(?:ing)?|speak(?:ing)?|chat(?:ting)?|get in touch|get through)(?: directly| now)? (?:to|with) ${ARTICLE}${PERSON}`;
const CONTACT = `(?:call|phone|reach|contact|message) ${ARTICLE}${PERSON}`;
const TRANSFER = `(?:connect|transfer|escalate|forward|redirect|pass|put|hand|switch|refer)(?: (?:me|us|this|it|through|over|on))* (?:to|with) ${ARTICLE}${PERSON}`;
const WANT = `(?:(?:want|need|prefer|get|give|send|find|request|demand|like)(?: me| us| to have| to see)* )${ARTICLE}${CLEARLY_A_PERSON}`;
const PERSON_ONLY = `${ARTICLE}(?:${CLEARLY_A_PERSON}|agent|live (?:chat|support|agent)|customer (?:service|support)|support team)`;
const CALL_BACK = `(?:have |get |ask |tell )?(?:someone|somebody|anyone|${ARTICLE}(?:${CLEARLY_A_PERSON}|agent|manager))(?: please)?(?: to)? (?:call|contact|phone|email|reach|help|get back to) (?:me|us)(?: back)?`;
const IS_SOMEBODY_THERE = `(?:is|are) (?:there )?${ARTICLE}${PERSON} (?:(?:that |who |whom )?(?:i|we) (?:can|could|may) (?:talk|speak|chat|write|turn) .*|(?:here|available|around|online)(?: .*)?)`;
const CAN_A_PERSON_HELP = `(?:can|could|will|would|may) ${ARTICLE}${CLEARLY_A_PERSON} (?:please )?(?:help|call|contact|answer|assist) .*`;

const HANDOFF_REQUEST = new RegExp(
  `^(?:${LEAD_IN}(?:${[TALK_TO, CONTACT, TRANSFER, WANT, PERSON_ONLY, CALL_BACK].join("|")})${CLOSING}|${IS_SOMEBODY_THERE}|${CAN_A_PERSON_HELP})$`,
);
/** A request for a human is near the beginning of a message, and in a short clause. */
const MAX_CHECKED_LENGTH = 1_000;
const MAX_CLAUSE_LENGTH = 160;

/** Whether a visitor asks, in English, to talk to a person; a question about hand-off itself does not count. */
export function wantsHuman(message: string): boolean {
  const plain = message.slice(0, MAX_CHECKED_LENGTH).toLowerCase().replaceAll(/['’`]/g, "");
  const clauses = plain.split(/[.!?;,:\n]+|\b(?:but|and|because|so)\b/).map((clause) => clause.replaceAll(/[^a-z0-9]+/g, " ").trim());
  return clauses.some((clause) => clause !== "" && clause.length <= MAX_CLAUSE_LENGTH && HANDOFF_REQUEST.test(clause));
}
