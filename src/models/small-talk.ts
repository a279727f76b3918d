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
const MAX_LENGTH = 100;

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
  if (message.length > MAX_LENGTH) return undefined;
  const said = message.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
  if (said.length > MAX_WORDS || !said.every((word) => GREETINGS.has(word) || THANKS.has(word) || FILLERS.has(word))) return undefined;
  if (said.some((word) => THANKS.has(word))) return "thanks";
  return said.some((word) => GREETINGS.has(word)) ? "greeting" : undefined;
}

/** How thanks are answered in a language, a BCP 47 tag; in English where it is another. */
export function replyToThanks(language: string): string {
  return WELCOMES[language.toLowerCase().split("-")[0]!] ?? WELCOMES["en"]!;
}
