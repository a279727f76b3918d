/** Someone to talk to that is no machine, whatever words stand between. */
const PERSON =
  "(?:(?:real|live|actual|human|customer|support|service|technical|sales) )*(?:human(?: being)?|person|people|someone|somebody|agents?|representatives?|reps?|operators?|advisors?|staff|team(?: member)?|employee|manager|supervisor|customer (?:service|support|care)|support)";
/** These words alone name what a product may have, so they need "real", "live" or a verb of talking. */
const SURELY_HUMAN =
  "(?:(?:real|live|actual) (?:human|person|agent|representative|rep|operator|people|someone)|human (?:being|agent|operator|representative|support)|human|operator|representative)";
const DETERMINER = "(?:(?:a|an|one of your|some|any|your|the|another|with|to) )*";
const TALK =
  "(?:talk|speak|chat|connect|transfer|escalate|forward|redirect|call|phone|reach|contact|hand over|put through|get through|get in touch)";

/** A polite or impatient beginning, after which the wish itself must follow. */
const OPENING =
  "(?:(?:hi|hello|hey|ok|okay|no|yes|please|pls|sorry|thanks|thank you|well|just|still|now|but|and|so|really|honestly|actually|instead|it|this|that|did not|didnt|does not|doesnt|work|help|not|useless|enough)[,.!;: ]+)*";
const ASKING =
  "(?:(?:can|could|may|might|would|will|how (?:can|do|could)|where (?:can|do)|is it possible (?:for me )?to|is there (?:a|any) way (?:for me )?to|i|we|id|i would|id really|i really|please|just|let|let me|allow me to|want|wanna|need|would|like|prefer|wish|have|demand|rather|love|you|me|us|to|able|be|get|directly|now|go ahead and|someone|somebody)[, ]+)*";

const PATTERNS: readonly RegExp[] = [
  // "I want to talk to a human", "can you connect me with an agent", "how can I speak to someone"
  new RegExp(
    `(?:^|[.!?;,] ?|\\b(?:but|and|so|because) )${OPENING}${ASKING}${TALK}(?:ing)?(?: me| us| this| it)?(?: (?:directly|now|over|through|up|in touch|with|to))* ${DETERMINER}${PERSON}(?: please| now| right now| instead| here| today| asap| about [^?]*)*\\s*(?:$|[.!?,;])`,
  ),
  // "I need a human", "get me a real person", "give me the operator"
  new RegExp(
    `(?:^|[.!?;,] ?|\\b(?:but|and|so) )${OPENING}(?:i|we|id|i would|please|just|can i|could i|may i|can you|could you)?(?: (?:just|really|would|still|rather|please|have))*(?: (?:want|need|like|prefer|get|give|have|demand|find|request|send))+(?: me| us| to see| to have)? ${DETERMINER}${SURELY_HUMAN}(?: please| now| right now| instead| here| help| to help (?:me|us))*\\s*(?:$|[.!?,;])`,
  ),
  // "human please", "agent!", "real person", "live chat with agent"
  new RegExp(
    `^${OPENING}${DETERMINER}(?:${SURELY_HUMAN}|agent|live (?:chat|support|agent)|customer (?:service|support)|representative|support team)(?: please| now| pls)*[.! ]*$`,
  ),
  // "is there a human I can talk to", "are there any real people here"
  new RegExp(
    `\\b(?:is|are) there ${DETERMINER}(?:${PERSON}) (?:(?:that |who |whom )?(?:i|we) (?:can|could|may) ${TALK}|here|available|around|there)`,
  ),
  // "someone to call me back", "have someone contact me"
  /\b(?:have|get|ask|tell) (?:someone|somebody|a human|a person|an agent|a representative|a manager) (?:to )?(?:call|contact|phone|email|reach|ring|get back to|help) (?:me|us)\b/,
  /\b(?:someone|somebody|an? (?:human|person|representative)) (?:please )?(?:call|contact|phone|help) (?:me|us)\b/,
];
const REFUSAL = /\b(?:do not|dont|no need to|never|not) (?:want|need|wish|have|like|talk|speak)\b/;
const MAX_LENGTH = 600;

/** Whether a visitor asks, in English, to be put through to a person; a question about hand-off itself is none. */
export function wantsHuman(message: string): boolean {
  const plain = message
    .slice(0, MAX_LENGTH)
    .toLowerCase()
    .replaceAll(/['’]/g, "")
    .replaceAll(/[^a-z0-9.!?;,]+/g, " ")
    .trim();
  if (REFUSAL.test(plain)) return false;
  return PATTERNS.some((pattern) => pattern.test(plain));
}
