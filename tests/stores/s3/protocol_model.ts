/**
 * A model of how programs replace a chunk of two objects in a bucket, which explores all
 * orders of their requests. `src/stores/s3/s3_journal.ts` says what the steps are for;
 * whoever changes a step changes it here first, with a mutant that leaves it out.
 *
 * A request may be repeated since its answer is lost, take effect at any later time, and
 * a completion may spoil its upload. Any program may be killed at any step.
 */

/** An object. Equal contents have equal ETags, as in S3. */
interface StoredObject {
  /** The tag: the write. "0ab" is what update b has made of what update a has made of "0". */
  readonly tag: string;
  readonly content: string;
}

/** The tag of an object that is absent. */
const ABSENT = "-";

interface Journal {
  readonly write: string;
  /** The tag that the first object must have; `"*"` for any; `null` if the writer alone can tell. */
  readonly base: string | null;
  /** The uploads of both objects. */
  readonly uploads: readonly string[];
  /** The ETags of the objects to delete, in place of uploads. */
  readonly removed?: readonly (string | undefined)[];
}

type BucketRequest =
  | { readonly kind: "upload" | "abort" | "complete"; readonly upload: string }
  /** Begins another upload of the same object. Answers its name. */
  | { readonly kind: "upload again"; readonly upload: string }
  | { readonly kind: "look"; readonly place: number }
  | { readonly kind: "find journal" }
  /** Without `match`, only if there is no journal. */
  | {
    readonly kind: "put journal";
    readonly journal: Journal;
    readonly match?: Journal;
  }
  | { readonly kind: "end journal"; readonly match: Journal | undefined }
  | {
    readonly kind: "delete";
    readonly place: number;
    readonly content: string | undefined;
  }
  /** What the protocol does not do. */
  | {
    readonly kind: "put";
    readonly place: number;
    readonly object: StoredObject;
    readonly content: string | undefined;
  };

type Answer = string | StoredObject | Journal | undefined;
type Program = Generator<BucketRequest, string, Answer>;

/** The steps that can be left out or changed. */
export const MUTANTS = [
  "the base is compared before the journal alone",
  "the check comes before the journal",
  "others carry out a journal that is not checked",
  "a journal that is not checked ends while its upload can be completed",
  "an own journal is taken for that of another",
  "any journal is taken for the own one",
  "completions are not looked at",
  "the journal ends before the last completion",
  "the journal ends without a condition",
  "a write is undone while its first upload can be completed",
  "a spoilt upload is replaced without the journal",
  "the journal is replaced without a condition",
  "the last object is a plain PUT",
  "readers do not compare tags",
] as const;

type Mutant = typeof MUTANTS[number];

interface Bucket {
  readonly objects: (StoredObject | undefined)[];
  readonly uploads: string[];
  readonly spoilt: string[];
  /** How many uploads have replaced spoilt ones. */
  replacements: number;
  journal: Journal | undefined;
  /** Requests that take effect later, or never. */
  readonly late: BucketRequest[];
  /** The writes whose first object was in place at some time. */
  readonly appeared: string[];
  /** Set once a guarded write replaces what its check refuses. */
  hasLostForeign: boolean;
}

interface State {
  readonly bucket: Bucket;
  /** For each program, the answers that it has got, and its outcome once it has ended. */
  readonly programs: readonly {
    readonly answers: readonly Answer[];
    readonly outcome?: string;
  }[];
  readonly kills: number;
  readonly losses: number;
  readonly spoils: number;
}

/** What is explored. */
export interface Scene {
  /** Their kinds and names: "write a", "guarded b", "update c", "delete d", "recover", "read 01", "read 10". */
  readonly programs: readonly string[];
  /** The tags of the objects at the start; "f" is a shard with foreign bytes. */
  readonly first?: string;
  readonly kills?: number;
  /** How many requests are repeated, whose first answer is lost or which come late. */
  readonly losses?: number;
  readonly spoils?: number;
}

/** The requests of each kind of program. */
class Protocol {
  readonly #mutant: Mutant | undefined;

  constructor(mutant: Mutant | undefined) {
    this.#mutant = mutant;
  }

  #has(mutant: Mutant): boolean {
    return this.#mutant === mutant;
  }

  start(program: string): Program {
    const [kind, name = ""] = program.split(" ");
    switch (kind) {
      case "write":
        return this.#write(name, "*");
      case "guarded":
        return this.#write(name, null);
      case "update":
        return this.#update(name);
      case "delete":
        return this.#delete(name);
      case "recover":
        return this.#recover();
      default:
        return this.#read(name);
    }
  }

  *#read(order: string): Program {
    for (let tries = 0; tries < 2; tries++) {
      const tags: string[] = [];
      for (const place of order) tags[Number(place)] = yield* tagAt(+place);
      if (tags[0] === tags[1]) return `read ${tags[0]}`;
      if (this.#has("readers do not compare tags")) return `read ${tags}`;
    }
    return "unfinished";
  }

  *#write(write: string, base: string | null): Program {
    let before = base === "*" ? yield* tagAt(0) : ABSENT;
    const uploads = [`${write}.0`, `${write}.1`];
    for (const upload of uploads) yield { kind: "upload", upload };
    const isEarly = this.#has("the check comes before the journal");
    if (base === null && isEarly) {
      before = yield* tagAt(0);
      if (isForeign(before)) return "refused";
      base = "*";
    }
    const journal = yield* this.#commit({ write, base, uploads });
    if (base === null) {
      before = yield* tagAt(0);
      if (isForeign(before)) {
        yield* this.#undo(journal);
        return "refused";
      }
    }
    const outcome = yield* this.#carryOut(journal, true);
    if (outcome === "done") return outcome;
    // Another write has replaced this one after others have carried it out.
    return before === (yield* tagAt(0)) ? "undone" : "done";
  }

  *#update(name: string): Program {
    for (let runs = 0; runs < 3; runs++) {
      const base = yield* tagAt(0);
      if (base !== (yield* tagAt(1))) {
        const found = (yield { kind: "find journal" }) as Journal | undefined;
        if (found) yield* this.#carryOut(found, false);
        continue;
      }
      const write = (base === ABSENT ? "" : base) + name;
      const uploads = [0, 1].map((place) => `${write}.${place}'run ${runs}`);
      for (const upload of uploads) yield { kind: "upload", upload };
      const isEarly = this.#has(
        "the base is compared before the journal alone",
      );
      const journal = yield* this.#commit({
        write,
        base: isEarly ? "*" : base,
        uploads,
      });
      const outcome = yield* this.#carryOut(journal, true);
      if (outcome === "done") return outcome;
      // The object tells its earlier writes: a lost answer may have been a success.
      if ((yield* tagAt(0)).includes(name)) return "done";
    }
    return "failed";
  }

  *#delete(name: string): Program {
    const removed: (string | undefined)[] = [];
    let base = ABSENT;
    for (const place of [1, 0]) {
      const object = (yield { kind: "look", place }) as StoredObject;
      removed[place] = object?.content;
      base = object?.tag ?? ABSENT;
    }
    if (base === ABSENT) return "done";
    const journal = { write: name, base, uploads: [], removed };
    return yield* this.#carryOut(yield* this.#commit(journal), true);
  }

  *#recover(): Program {
    const found = (yield { kind: "find journal" }) as Journal | undefined;
    if (found) yield* this.#carryOut(found, false);
    return "done";
  }

  /** Stores a journal, after those of others are carried out. */
  *#commit(journal: Journal): Generator<BucketRequest, Journal, Answer> {
    for (;;) {
      if ((yield { kind: "put journal", journal }) === "stored") return journal;
      if (this.#has("any journal is taken for the own one")) return journal;
      const found = (yield { kind: "find journal" }) as Journal | undefined;
      if (found === undefined) continue;
      const isOwn = found.write === journal.write &&
        !this.#has("an own journal is taken for that of another");
      if (isOwn) return found;
      yield* this.#carryOut(found, false);
    }
  }

  *#carryOut(journal: Journal, isOwn: boolean): Program {
    for (;;) {
      const { write, base, uploads, removed } = journal;
      const [first, last] = uploads as [string, string];
      const mayComplete = base !== null || isOwn ||
        this.#has("others carry out a journal that is not checked");
      if (base !== "*" && (!isOwn || base !== null)) {
        const tag = yield* tagAt(0);
        const isPossible = tag === write || mayComplete &&
            (base === null || tag === base);
        if (!isPossible) return yield* this.#undo(journal);
      }
      if (removed) {
        for (const place of [1, 0]) {
          if (removed[place] === undefined) continue;
          yield { kind: "delete", place, content: removed[place] };
        }
        yield* this.#end(journal);
        return "done";
      }
      yield { kind: "complete", upload: first };
      const isLooked = !this.#has("completions are not looked at");
      if (isLooked && (yield* tagAt(0)) !== write) {
        return yield* this.#undo(journal);
      }
      const isEarly = this.#has("the journal ends before the last completion");
      if (isEarly) yield* this.#end(journal);
      if (this.#has("the last object is a plain PUT")) {
        yield { kind: "abort", upload: last };
        const { content } = (yield { kind: "look", place: 1 }) as StoredObject;
        const object = { tag: write, content: contentOf(1, write) };
        yield { kind: "put", place: 1, object, content };
      } else yield { kind: "complete", upload: last };
      if (!isLooked || (yield* tagAt(1)) === write) {
        if (!isEarly) yield* this.#end(journal);
        return "done";
      }
      let found = (yield { kind: "find journal" }) as Journal | undefined;
      if (found?.write !== write) return "done";
      // The journal holds the bytes, so that the upload can be replaced.
      yield { kind: "abort", upload: last };
      const again = (yield { kind: "upload again", upload: last }) as string;
      if (this.#has("a spoilt upload is replaced without the journal")) {
        yield { kind: "complete", upload: again };
        yield* this.#end(journal);
        return "done";
      }
      const next = { ...journal, uploads: [first, again] };
      const match = this.#has("the journal is replaced without a condition")
        ? found
        : journal;
      yield { kind: "put journal", journal: next, match };
      found = (yield { kind: "find journal" }) as Journal | undefined;
      if (found?.uploads[1] !== again) yield { kind: "abort", upload: again };
      if (found?.write !== write) return "done";
      journal = found;
    }
  }

  /** Ends a write of which no object is in place, unless its first upload turns out to be complete. */
  *#undo(journal: Journal): Program {
    const { write, base, uploads } = journal;
    const [first] = uploads;
    const isKept = base === null
      ? this.#has(
        "a journal that is not checked ends while its upload can be completed",
      )
      : this.#has("a write is undone while its first upload can be completed");
    if (first !== undefined && !isKept) {
      yield { kind: "abort", upload: first };
      if ((yield* tagAt(0)) === write) {
        return yield* this.#carryOut({ ...journal, base: write }, false);
      }
    }
    for (const upload of uploads.slice(isKept ? 2 : 1)) {
      yield { kind: "abort", upload };
    }
    yield* this.#end(journal);
    return "undone";
  }

  *#end(journal: Journal): Generator<BucketRequest, void, Answer> {
    const match = this.#has("the journal ends without a condition")
      ? undefined
      : journal;
    yield { kind: "end journal", match };
  }
}

function* tagAt(place: number): Generator<BucketRequest, string, Answer> {
  const object = (yield { kind: "look", place }) as StoredObject | undefined;
  return object?.tag ?? ABSENT;
}

const isForeign = (tag: string) => tag.startsWith("f");

/** The sequence part is the same in every write, as the index of a raw shard is. */
const contentOf = (place: number, write: string) => place === 1 ? "i" : write;

/** Lets a request take effect. */
function answer(bucket: Bucket, request: BucketRequest): Answer {
  const { objects, uploads, spoilt } = bucket;
  switch (request.kind) {
    case "look":
      return objects[request.place];
    case "find journal":
      return bucket.journal;
    case "upload":
      if (!uploads.includes(request.upload)) uploads.push(request.upload);
      return "stored";
    case "upload again": {
      const name = `${request.upload.split("'")[0]}'${++bucket.replacements}`;
      uploads.push(name);
      return name;
    }
    case "abort":
      remove(uploads, request.upload);
      remove(spoilt, request.upload);
      return "stored";
    case "complete": {
      const { upload } = request;
      if (!remove(uploads, upload)) return "gone";
      const [write, number] = upload.split("'")[0]!.split(".") as [
        string,
        string,
      ];
      const place = Number(number);
      const replaced = objects[place]?.tag ?? ABSENT;
      bucket.hasLostForeign ||= place === 0 && write.startsWith("g") &&
        isForeign(replaced);
      if (place === 0) bucket.appeared.push(write);
      objects[place] = { tag: write, content: contentOf(place, write) };
      return "complete";
    }
    case "put journal": {
      const expected = request.match && JSON.stringify(request.match);
      const present = bucket.journal && JSON.stringify(bucket.journal);
      if (present !== expected) return "conflict";
      bucket.journal = request.journal;
      return "stored";
    }
    case "end journal": {
      const expected = JSON.stringify(request.match);
      const isExpected = request.match === undefined ||
        expected === JSON.stringify(bucket.journal);
      if (isExpected) bucket.journal = undefined;
      return isExpected ? "stored" : "conflict";
    }
    default: {
      const { place, content } = request;
      if (objects[place]?.content !== content) return "conflict";
      objects[place] = request.kind === "put" ? request.object : undefined;
      return "stored";
    }
  }
}

function remove<T>(list: T[], item: T): boolean {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
  return index >= 0;
}

const copyOf = (bucket: Bucket): Bucket => ({
  ...bucket,
  objects: bucket.objects.slice(),
  uploads: bucket.uploads.slice(),
  spoilt: bucket.spoilt.slice(),
  late: bucket.late.slice(),
  appeared: bucket.appeared.slice(),
});

/** The result of an exploration. */
export interface Exploration {
  readonly states: number;
  /** What went wrong, with the steps that lead to it. */
  readonly failure?: string;
}

/** Explores a scene, with one step changed if a mutant is given. */
export function explore(scene: Scene, mutant?: Mutant): Exploration {
  const protocol = new Protocol(mutant);
  const { programs, first = "0", kills = 0, losses = 0, spoils = 0 } = scene;
  /** The next request of a program, or its outcome. */
  const nextOf = (index: number, answers: readonly Answer[]) => {
    const program = protocol.start(programs[index]!);
    let next = program.next();
    for (const answer of answers) next = program.next(answer);
    return next;
  };
  const start: State = {
    bucket: {
      objects: first === ABSENT
        ? [undefined, undefined]
        : [0, 1].map((place) => ({
          tag: first,
          content: contentOf(place, first),
        })),
      uploads: [],
      spoilt: [],
      replacements: 0,
      journal: undefined,
      late: [],
      appeared: [],
      hasLostForeign: false,
    },
    programs: programs.map(() => ({ answers: [] })),
    kills,
    losses,
    spoils,
  };

  function* stepsOf(state: State): Generator<[string, State]> {
    const { bucket } = state;
    for (const [i, request] of bucket.late.entries()) {
      const after = copyOf(bucket);
      after.late.splice(i, 1);
      answer(after, request);
      yield [`late ${JSON.stringify(request)}`, { ...state, bucket: after }];
    }
    for (const [index, { answers, outcome }] of state.programs.entries()) {
      if (outcome !== undefined) continue;
      const name = programs[index]!;
      const request = nextOf(index, answers).value as BucketRequest;
      const text = `${name}: ${JSON.stringify(request)}`;
      /** Goes on with an answer, or repeats the request if there is none. */
      const goOn = (
        change: (bucket: Bucket) => Answer[],
        costs: Partial<State> = {},
      ): State => {
        const after = copyOf(bucket);
        const all = [...answers, ...change(after)];
        const next = nextOf(index, all);
        const program = next.done
          ? { answers: [], outcome: next.value }
          : { answers: all };
        return {
          ...state,
          ...costs,
          bucket: after,
          programs: state.programs.with(index, program),
        };
      };
      if (
        request.kind === "complete" && bucket.spoilt.includes(request.upload)
      ) {
        yield [`${text}, spoilt`, goOn(() => ["gone"])];
        continue;
      }
      yield [text, goOn((after) => [answer(after, request)])];
      const isChange = !/^(look|find|upload|abort)/.test(request.kind);
      if (state.losses > 0 && isChange) {
        const costs = { losses: state.losses - 1 };
        const lose = (after: Bucket) => (answer(after, request), []);
        yield [`${text}, the answer is lost`, goOn(lose, costs)];
        const delay = (after: Bucket) => (after.late.push(request), []);
        yield [`${text}, delayed`, goOn(delay, costs)];
      }
      if (state.spoils > 0 && request.kind === "complete") {
        const costs = { spoils: state.spoils - 1 };
        const { upload } = request;
        const spoil = (after: Bucket) => {
          if (remove(after.uploads, upload)) after.spoilt.push(upload);
          return ["complete"]; // Some services say so.
        };
        yield [`${text}, which spoils it`, goOn(spoil, costs)];
        const lag = (after: Bucket) => (after.late.push(request), ["complete"]);
        yield [`${text}, which is not done yet`, goOn(lag, costs)];
      }
      if (state.kills > 0 && !name.startsWith("read")) {
        const program = { answers: [], outcome: "killed" };
        yield [`KILL ${name}`, {
          ...state,
          kills: state.kills - 1,
          programs: state.programs.with(index, program),
        }];
      }
    }
  }

  /** The chunk once all programs are killed and the journal is carried out. */
  function recovered(bucket: Bucket): Bucket {
    const after = copyOf(bucket);
    const program = protocol.start("recover");
    let next = program.next();
    while (!next.done) {
      const request = next.value;
      const isSpoilt = request.kind === "complete" &&
        after.spoilt.includes(request.upload);
      next = program.next(isSpoilt ? "gone" : answer(after, request));
    }
    return after;
  }

  function judge({ bucket, programs: states }: State): string | undefined {
    const outcomes = states.map(({ outcome }) => outcome);
    const mixed = outcomes.find((outcome) => outcome?.includes(","));
    if (mixed) return `a reader got ${mixed}`;
    if (bucket.hasLostForeign) return "foreign bytes are lost";
    const after = recovered(bucket);
    const [tag, last] = after.objects.map((object) => object?.tag ?? ABSENT);
    if (tag !== last) return `a kill leaves ${tag},${last}`;
    const hasDeletion = programs.some((name) => name.startsWith("delete"));
    if (tag === ABSENT && first !== ABSENT && !hasDeletion) return "lost";
    const isQuiet = !outcomes.includes(undefined) && bucket.late.length === 0;
    if (!isQuiet) return undefined;
    const isCalm = kills + losses + spoils === 0;
    if (isCalm && (bucket.journal || bucket.uploads.length > 0)) {
      return `left behind: ${JSON.stringify(bucket)}`;
    }
    for (const [index, name] of programs.entries()) {
      const isRejected = /^(undone|failed)/.test(outcomes[index]!) &&
        !name.startsWith("update"); // Whole writes replace what it has made.
      if (!isRejected) continue;
      const isAlone = programs.length === 1 && spoils === 0;
      if (isAlone) return `${name} is rejected in vain`;
      const write = name.split(" ")[1]!;
      const hasAppeared = bucket.appeared.some((each) => each.includes(write));
      if (hasAppeared) return `${name} is rejected and has appeared`;
    }
    const areUpdates = programs.every((name) =>
      !/^(write|guar|del)/.test(name)
    );
    for (const [index, name] of programs.entries()) {
      if (!name.startsWith("update") || !areUpdates) continue;
      const times = tag!.split(name.slice(-1)).length - 1;
      if (times > 1) return `made twice: ${tag}`;
      if (times === 0 && outcomes[index] === "done") {
        return `the update is lost: ${tag}`;
      }
    }
  }

  const seen = new Set([hashOf(JSON.stringify(start))]);
  const path: { step: string; from: number }[] = [{ step: "", from: -1 }];
  let frontier: [number, State][] = [[0, start]];
  while (frontier.length > 0) {
    const later: [number, State][] = [];
    for (const [from, state] of frontier) {
      for (const [step, next] of stepsOf(state)) {
        next.bucket.uploads.sort();
        const hash = hashOf(JSON.stringify(next));
        if (seen.has(hash)) continue;
        seen.add(hash);
        path.push({ step, from });
        const index = path.length - 1;
        const problem = judge(next);
        if (problem !== undefined) {
          const steps: string[] = [];
          for (let i = index; i > 0; i = path[i]!.from) {
            steps.push(path[i]!.step);
          }
          const failure = [problem, ...steps.reverse()].join("\n  ");
          return { states: seen.size, failure };
        }
        later.push([index, next]);
      }
    }
    frontier = later;
  }
  return { states: seen.size };
}

/** A hash of 53 bits, so that many states fit into memory. */
function hashOf(text: string): number {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507);
  b = Math.imul(b ^ (b >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}

/** Small scenes, all of which the protocol passes. */
export const SCENES: readonly Scene[] = [
  { programs: ["write a", "read 01"], kills: 1 },
  { programs: ["write a"], losses: 2, spoils: 1 },
  { programs: ["write a"], spoils: 2 },
  { programs: ["update a"], losses: 2 },
  { programs: ["update a", "update b"], kills: 1 },
  { programs: ["guarded g", "read 10"], kills: 1 },
  { programs: ["guarded g"], losses: 2 },
  { programs: ["guarded g", "write f"], kills: 1 },
  { programs: ["guarded g", "recover"], first: "f", kills: 1, losses: 1 },
  { programs: ["guarded g", "update b"], kills: 1 },
  { programs: ["delete d", "read 01", "recover"], kills: 1 },
  { programs: ["write a", "write b"], first: ABSENT, kills: 1 },
  { programs: ["write a", "write b"], losses: 1 },
  { programs: ["write a", "write b"], spoils: 1 },
];

/** Larger scenes, which take minutes. */
export const LARGE_SCENES: readonly Scene[] = [
  { programs: ["write a", "read 01", "read 10"], kills: 1 },
  { programs: ["write a", "write b", "read 10"], kills: 1 },
  { programs: ["write a", "write b"], losses: 1, kills: 1 },
  { programs: ["write a", "recover"], spoils: 2 },
  { programs: ["write a", "recover"], spoils: 1, losses: 1 },
  { programs: ["write a", "write b", "recover"], kills: 1 },
  { programs: ["update a", "recover"], losses: 1, spoils: 1 },
  { programs: ["update a", "update b", "recover"], kills: 1 },
  { programs: ["update a", "update b"], losses: 1, kills: 1 },
  { programs: ["update a", "guarded g"], losses: 1, kills: 1 },
  { programs: ["guarded g", "recover", "write b"] },
  { programs: ["guarded g", "guarded h"], losses: 1, kills: 1 },
  { programs: ["guarded g", "write f"], kills: 1, spoils: 1 },
];
