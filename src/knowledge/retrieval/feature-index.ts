import { fnv1a } from "../../platform/text.ts";

/** Room for 5,000 questions of the longest; what is beyond is left out, so that the memory is bounded. */
const MAX_FEATURES = 1_000_000;
const MAX_POSTINGS = 2_500_000;
const FIRST_SLOTS = 1_024;
const FIRST_POSTINGS = 4_096;
/** The share of slots in use from which the table doubles. */
const MAX_LOAD = 0.75;
/** A posting is an owner and a weight in tenths, which takes so many of the lower bits. */
const WEIGHT_BITS = 4;
const NONE = -1;

/** An owner of a feature: in how many of its questions the feature is, and the sum of its weights there. */
export interface Holder {
  owner: number;
  count: number;
  weight: number;
}

/**
 * The features of questions, and the owners of these: a hash table and linked lists in typed arrays. It takes some 25 bytes
 * for each feature of a question, where maps of maps take 400. Features are known by 32 bits of their hash: of a million,
 * about a hundred share theirs with another, which hardly changes a ranking.
 */
export class FeatureIndex {
  private hashes = new Uint32Array(FIRST_SLOTS);
  /** The first posting of each slot. */
  private heads = new Int32Array(FIRST_SLOTS).fill(NONE);
  /** How many postings each slot has. */
  private lengths = new Uint32Array(FIRST_SLOTS);
  private usedSlots = 0;

  private postings = new Uint32Array(FIRST_POSTINGS);
  private nexts = new Int32Array(FIRST_POSTINGS);
  private usedPostings = 0;
  private firstFree = NONE;

  /** How much of the most that it holds is in use, 0..1. */
  get load(): number {
    return Math.max(this.usedSlots / MAX_FEATURES, this.usedPostings / MAX_POSTINGS);
  }

  /** In how many questions a feature is. */
  frequencyOf(feature: string): number {
    return this.lengths[this.slotOf(hashOf(feature))]!;
  }

  /** Adds a question's feature, unless there is no room; returns whether it did. */
  add(feature: string, owner: number, weight: number): boolean {
    const hash = hashOf(feature);
    let slot = this.slotOf(hash);
    const isNew = this.hashes[slot] === 0;
    if ((isNew && this.usedSlots >= MAX_FEATURES) || (this.firstFree === NONE && this.usedPostings >= MAX_POSTINGS)) return false;
    if (isNew && this.usedSlots >= this.hashes.length * MAX_LOAD) {
      this.growSlots();
      slot = this.slotOf(hash);
    }
    if (isNew) this.usedSlots++;
    this.hashes[slot] = hash;
    const posting = this.newPosting();
    this.postings[posting] = toPosting(owner, weight);
    this.nexts[posting] = this.heads[slot]!;
    this.heads[slot] = posting;
    this.lengths[slot]!++;
    return true;
  }

  /** Removes what `add` added; returns whether it was there. The feature keeps its slot until the table grows. */
  remove(feature: string, owner: number, weight: number): boolean {
    const slot = this.slotOf(hashOf(feature));
    const wanted = toPosting(owner, weight);
    for (let before = NONE, at = this.heads[slot]!; at !== NONE; before = at, at = this.nexts[at]!) {
      if (this.postings[at] !== wanted) continue;
      if (before === NONE) this.heads[slot] = this.nexts[at]!;
      else this.nexts[before] = this.nexts[at]!;
      this.nexts[at] = this.firstFree;
      this.firstFree = at;
      this.lengths[slot]!--;
      return true;
    }
    return false;
  }

  /** The owners of a feature, each once. */
  holdersOf(feature: string): Holder[] {
    return this.holdersIn(this.slotOf(hashOf(feature)));
  }

  /** The owners of each feature. */
  *all(): Generator<Holder[]> {
    for (const [slot, length] of this.lengths.entries()) if (length > 0) yield this.holdersIn(slot);
  }

  private holdersIn(slot: number): Holder[] {
    const found = new Map<number, Holder>();
    for (let at = this.heads[slot]!; at !== NONE; at = this.nexts[at]!) {
      const posting = this.postings[at]!;
      const owner = posting >>> WEIGHT_BITS;
      const weight = (posting & ((1 << WEIGHT_BITS) - 1)) / 10;
      const holder = found.get(owner);
      if (holder) {
        holder.count++;
        holder.weight += weight;
      } else found.set(owner, { owner, count: 1, weight });
    }
    return [...found.values()];
  }

  /** The slot of a hash, or the free one where it belongs. */
  private slotOf(hash: number): number {
    const last = this.hashes.length - 1;
    let slot = hash & last;
    while (this.hashes[slot] !== 0 && this.hashes[slot] !== hash) slot = (slot + 1) & last;
    return slot;
  }

  private growSlots(): void {
    const { hashes, heads, lengths } = this;
    const size = hashes.length * 2;
    this.hashes = new Uint32Array(size);
    this.heads = new Int32Array(size).fill(NONE);
    this.lengths = new Uint32Array(size);
    this.usedSlots = 0;
    for (const [from, hash] of hashes.entries()) {
      if (lengths[from] === 0) continue;
      const slot = this.slotOf(hash);
      this.hashes[slot] = hash;
      this.heads[slot] = heads[from]!;
      this.lengths[slot] = lengths[from]!;
      this.usedSlots++;
    }
  }

  private newPosting(): number {
    const free = this.firstFree;
    if (free !== NONE) {
      this.firstFree = this.nexts[free]!;
      return free;
    }
    if (this.usedPostings === this.postings.length) {
      this.postings = resized(this.postings, this.usedPostings * 2);
      this.nexts = resized(this.nexts, this.usedPostings * 2);
    }
    return this.usedPostings++;
  }
}

function toPosting(owner: number, weight: number): number {
  return (owner << WEIGHT_BITS) | Math.round(weight * 10);
}

function resized<Numbers extends Uint32Array | Int32Array>(numbers: Numbers, size: number): Numbers {
  const larger = new (numbers.constructor as new (size: number) => Numbers)(size);
  larger.set(numbers);
  return larger;
}

/** FNV-1a with a final mix, never 0. */
function hashOf(feature: string): number {
  let hash = fnv1a(feature);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0 || 1;
}
