/** Chat spellings and misspelt words, each with what it stands for. The misspelt words are function words, which no index contains. */
const CHAT_SPELLINGS = new Map(
  `
  u: you, ur: your, r: are, pls: please, plz: please, thx: thanks, cant: can't, dont: don't, doesnt: doesn't, didnt: didn't,
  hasnt: hasn't, havent: haven't, isnt: isn't, wont: won't, whats: what is, wheres: where is, hows: how is, whens: when is,
  theres: there is, im: i am, ive: i have, til: until, till: until, wanna: want to, gonna: going to, gotta: have to,
  lemme: let me, tmrw: tomorrow, acc: account, acct: account, nr: number, num: number, mins: minutes, hrs: hours,
  msg: message, pic: picture, pw: password, pwd: password, tel: telephone, addr: address, appt: appointment,
  cert: certificate, docs: documents, max: maximum, min: minimum, cuz: because, alot: a lot, dosent: doesn't, teh: the,
  hte: the, thier: their, tehre: there, thsi: this, taht: that, adn: and, wiht: with, yuo: you, yoru: your, waht: what,
  whta: what, hwat: what, hwo: how, wehn: when, whne: when, wehre: where, wich: which, whcih: which, becuase: because,
  becasue: because, cna: can, coudl: could, woudl: would, shoudl: should, ahve: have, jsut: just
  `
    .split(",")
    .map((pair) => pair.trim().split(": ") as [string, string]),
);

/** Replaces the chat spellings and misspelt words of a text. */
export function expandChatSpellings(text: string): string {
  return text.replaceAll(/[A-Za-z]+/g, (word) => CHAT_SPELLINGS.get(word.toLowerCase()) ?? word);
}
