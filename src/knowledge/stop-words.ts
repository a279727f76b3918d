const words = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/));

/** Words that carry grammar, not meaning: they are neither indexed nor asked for. Spelt as the tokenizer leaves them. */
export const STOP_WORDS = words(`
  a about after again all also although am an and another any anybody anyhow anyone anything are arent as at be because been
  before being both but by can cannot cant could couldnt did didnt do does doesnt doing done dont each either else ever every
  everyone everything few for from further had hadnt has hasnt have havent having he hello her here hers herself hey hi him
  himself his how howd however hows i if im in into is isnt it its itself ive just kindly least less let lets lot lots many
  may maybe me might mine more most much must my myself neither no nobody none nor not nothing now of off oh ok okay on once
  one only onto or other others ought our ours ourselves out over own per perhaps please pls quite rather really same shall
  shant she should shouldnt since so some somebody somehow someone something soon still such sure than thank thanks that thats
  the their theirs them themselves then there theres these they theyre theyve this those though through thus to together too
  under until up upon us very was wasnt we well were werent weve what whatever whats when whenever where wheres whether which
  while who whoever whom whos whose why will with within without wont would wouldnt yes yet you youd youll your youre yours
  yourself yourselves youve
`);

/** Words that any support question may hold: found or not, they say little about what is asked. */
export const WEAK_WORDS = words(`
  able actually allow anyway ask available begin believe best better bit bring call called case cause change come correct
  current currently detail different difference describe easy example exactly exist explain fact feel find first follow
  following future general get gets getting give given go goes going gonna good got great guess guide happen happened
  happening happens hear help helpful hope idea information info involve issue keep kind know last learn like little long look
  looking made main make makes making matter mean means meant mention mentioned method need needed needs new next nice nope
  old option order part particular people place possible possibly problem properly provide put question quick reason regard
  heard sorry oops sense confused confusing regarding require required right say saying second see seem seems show simple situation specific start stop stuff take
  takes taking talk tell thing things think thought time tried trouble try trying type understand use used user useful uses
  using usually various view wanna want wanted wants way ways wish wonder wondering work working works wrong
`);
