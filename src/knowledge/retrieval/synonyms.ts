import { stems } from "../../text/terms.ts";
import type { TermAlternative } from "../../models/retrieval.ts";

/**
 * Groups of everyday English words that visitors use as synonyms when they write to a support team, one group a line. A word may be
 * in several groups. No word is specific to a trade.
 */
const GROUPS = `
  miss missing lost lose disappear vanish gone unavailable absent
  arrive arrival receive deliver delivery come reach appear show
  cancel cancellation stop terminate end abort revoke quit discontinue undo revert reverse
  change update edit modify alter switch replace amend adjust
  cost fee charge price pricing expense expensive surcharge rate
  fail failure decline reject refuse deny unsuccessful error block broken
  delay late slow pend pending wait long overdue stuck hold
  verify verification confirm confirmation prove proof validate authenticate identification identity
  buy purchase order acquire shop
  send transfer move remit wire
  country abroad foreign overseas international worldwide europe nation global
  phone mobile cell cellphone telephone smartphone iphone android
  steal stolen theft thief rob mug fraud fraudulent scam hack compromise
  money cash fund funds
  child kid son daughter teenager minor children
  delete close remove erase deactivate
  add load deposit refill
  convert conversion exchange currency euro dollar pound
  twice double duplicate repeat
  limit maximum max cap restriction quota
  refund reimburse reimbursement repay return
  help assist assistance support aid
  start begin activate activation enable open launch
  create make generate build setup
  find locate search track tracking whereabouts
  see view display check look show
  know tell explain learn understand
  need require requirement prerequisite
  work function operate run
  problem issue trouble error bug fault
  old age older young
  password passcode pin code credential
  login signin access
  account profile
  link connect attach pair
  subscribe subscription membership plan
  bill invoice receipt statement
  pay payment paid
  wrong incorrect mistake false inaccurate
  recognise recognize unknown unfamiliar unauthorised unauthorized
  allow permit permission privilege authorisation authorization right
  let able possible
  damage crack break broken
  expire expiry expiration
  quick fast soon immediate instant
  many several number amount
  place location address
  email mail
  photo picture image
  job work employment career
  car vehicle automobile
  trip travel journey vacation holiday
  flight plane airline
  hotel lodging accommodation
  doctor physician
  meal dish food
  ship shipment shipping parcel package post
  company business firm organisation organization
  employee staff worker
  customer client user
  website site page
  configure configuration set setting setup
  document file paper
  backup copy snapshot
  secure security safe safety protect
  different difference distinct differ
  benefit advantage pro
  restore recover recovery
  upgrade improve
  increase raise grow
  decrease reduce lower cut
  monitor watch observe
`;

/** The stems of each group, and the groups of each stem. */
interface SynonymTable {
  members: string[][];
  groupsOf: Map<string, number[]>;
}

let table: SynonymTable | undefined;

function readTable(): SynonymTable {
  const members = GROUPS.trim()
    .split("\n")
    .map((line) => [...new Set(stems(line))]);
  const groupsOf = new Map<string, number[]>();
  for (const [group, terms] of members.entries()) {
    for (const term of terms) groupsOf.set(term, [...(groupsOf.get(term) ?? []), group]);
  }
  return { members, groupsOf };
}

/** The names of the groups that a stem belongs to. They start with a character that no stem has. */
export function synonymGroups(term: string): readonly string[] {
  table ??= readTable();
  return table.groupsOf.get(term)?.map((group) => `=${group}`) ?? [];
}

/** The weights of a synonym, and of a word that replaces a phrase. */
const SYNONYM_WEIGHT = 0.75;
const PHRASE_WEIGHT = 0.8;

/** The stems of the synonyms of a stem in support questions. */
export function synonymsOf(term: string): TermAlternative[] {
  const { members, groupsOf } = (table ??= readTable());
  const others = (groupsOf.get(term) ?? []).flatMap((group) => members[group]!.filter((other) => other !== term));
  return others.map((other) => ({ term: other, weight: SYNONYM_WEIGHT }));
}

/** Everyday phrases, and the words that help texts use instead. */
const PHRASES = `
  take out = withdraw withdrawal
  take money out = withdraw withdrawal
  get money out = withdraw withdrawal
  pay in = deposit
  put in = enter insert
  pick up = collect collection
  picked up = collect collection
  get rid of = dispose remove delete
  throw away = dispose waste
  log in = sign login
  log on = sign login
  log out = sign logout
  sign up = register subscribe join
  signed up = register contract order
  money back = refund reimburse
  send back = return
  give back = return
  bring back = return
  turn off = switch disable deactivate
  turn on = switch enable activate
  switch off = disable deactivate
  switch on = enable activate
  set up = configure create install
  call off = cancel
  get out of = cancel leave
  back out = cancel withdraw
  changed my mind = cancel withdraw withdrawn
  get in touch = contact reach
  get hold of = contact reach
  speak to = contact
  talk to = contact
  fill out = form complete
  fill in = form complete
  look up = find search
  top up = recharge credit
  sold out = stock available
  out of stock = available
  run out = expire used
  used up = used limit
  use up = used limit
  good for = valid
  how early = before ahead earliest advance
  how soon = days time arrive
  how fast = speed days time
  how quick = days time minutes
  how quickly = days time minutes
  how long = days weeks time duration takes
  how old = age
  opening times = open hours
  opening hours = open hours
  open on = open hours
  doesn't work = fault problem trouble error
  does not work = fault problem trouble error
  not working = fault problem trouble error
  is down = outage fault connection
  went down = outage fault
  right away = immediate immediately
  straight away = immediate immediately
  as soon as possible = immediate express fast
  moved house = address move moving
  moving house = address move moving
  new address = address move moving
  go bust = insolvency protection bankrupt protected
  went wrong = failed error
  in parts = instalments split partial
  pay later = invoice instalments
  too late = late delay deadline
  free of charge = free cost
  for free = free cost
  get a discount = discount
  cut off = block blocked disconnect
  hang up = end
  find out = see check
  check out = order pay payment
  come with = include included
  hand over = transfer reassign
  pass on = transfer
  take over = transfer
  break down = fault
  broke down = fault
`;

/** A phrase, and the stems of the words that may replace it. */
export interface FoundPhrase {
  phrase: string;
  alternatives: TermAlternative[];
}

let phrases: FoundPhrase[] | undefined;

/** Finds the phrases in a text whose single words mean little: "take out", "get rid of". */
export function phrasesIn(text: string): FoundPhrase[] {
  phrases ??= readPhrases();
  const words = ` ${text
    .toLowerCase()
    .replaceAll("’", "'")
    .replaceAll(/[^a-z0-9']+/g, " ")
    .trim()} `;
  return phrases.filter(({ phrase }) => words.includes(` ${phrase} `));
}

function readPhrases(): FoundPhrase[] {
  return PHRASES.trim()
    .split("\n")
    .map((line) => {
      const [phrase, words] = line.split("=") as [string, string];
      return { phrase: phrase.trim(), alternatives: stems(words).map((term) => ({ term, weight: PHRASE_WEIGHT })) };
    });
}
