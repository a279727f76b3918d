import { stems } from "../../text/terms.ts";

/**
 * Groups of everyday English words that visitors use as synonyms when they write to a support team, one group a line. A
 * word may be in several groups. None is specific to a trade: an agent's own words are in its own questions.
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

let groups: Map<string, string[]> | undefined;

/** The names of the groups that a stem belongs to. They start with a character that no stem has. */
export function synonymGroups(term: string): readonly string[] {
  groups ??= parseGroups();
  return groups.get(term) ?? [];
}

function parseGroups(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [at, line] of GROUPS.trim().split("\n").entries()) {
    for (const term of new Set(stems(line))) found.set(term, [...(found.get(term) ?? []), `=${at}`]);
  }
  return found;
}
