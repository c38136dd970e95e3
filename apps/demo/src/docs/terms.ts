import { stemmer } from 'stemmer'

/** Words that say nothing about the subject of a question, with frequent misspellings. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  `a able about actually adjust adn afterwards again all also am an and answer any anyone anything are aren't arent as ask
  at away be because been being best better between bit briefly but by called can can't cannot cant cna contain contains could
  describe detail details did didn't difference discuss do does doesn't doesnt doing don't done dont dose e e.g eg else ever
  every everything exactly example exist exists explain few find for from g get gets getting give given go going gonna got
  had handle happen happening happens has have having he hello help her here hey hi his how how's however hows hte hwo i i'd
  i'll i'm i've if im in increase info information into is isn't isnt it it's its itself ive just kind know let let's life
  like little look lot made make makes many may maybe me mean meaning means mention might modify more much must my myself no
  not now of oh ok okay on one only onto or other our out over own please pls plz possible pretty proper properly question
  quickly quite r raise rather really right say says shall she should show so some somehow someone something soon sort stand
  stands still such support supported supports take taken takes talk teh than thank thanks that that's the their them
  then there there's these they thier thing things think this those to too try tweak u under understand up upon ur us use
  used uses using very waht want wants was wat way ways we well were wha what what's whats when where where's wheres whether
  which while who who's whom whose why wich will with within without won't wonder wont work works would wouldn't wht yes yet
  you you'd you'll you're your yourself yuo`.split(/\s+/)
)

/** Verbs that fit many things: they weigh less than what they are about. */
const LIGHT_WORDS =
  `send pass put set add write read call change need take show see give keep hold say find disable
  enable default`.split(/\s+/)

/** Words that users of this service take for one another, one meaning in each group. */
const SYNONYM_GROUPS = `cancel stop abort interrupt kill | resume reconnect continue |
  store storage database db sqlite persist save sql | session conversation chat thread | remember history |
  install setup | start launch boot | delete remove unregister | timeout deadline long duration |
  approval approve confirm confirmation permission | deny reject refuse decline | error fault failure exception | error err |
  sse event-stream eventsource | stream streaming live | key apikey credential | limit maximum max bound |
  big large size length | need require requirement prerequisite | change set configure | retry attempt |
  page pagination paginate cursor | provider vendor | openai gpt chatgpt | anthropic claude | google gemini |
  license licence free | package module library | state status | offline local | environment env variable | register add |
  authentication authenticate auth login jwt token secure security protect | crash restart reboot |
  survive last durable persist | folder directory | route endpoint path url | node nodejs | test testing |
  socket websocket socket.io gateway | fast speed performance benchmark bench latency |
  contribute contributing contributor | list enumerate | create define construct write build | part chunk event |
  port interface`
  .split('|')
  .map((group) => group.trim().split(/\s+/))

const WORD = /[\p{L}\p{N}][\p{L}\p{N}_'’.@/-]*/gu
const BOUNDARY = /[_.@/-]+|(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u

/** A word of a text: as written, its stem, and the stems of its parts (`Last-Event-ID`, `maxSteps`, `RUN_ERR_X`). */
export interface Term {
  word: string
  stem: string
  parts: string[]
}

/** The words of a text in order, without stop words. */
export function termsOf(text: string): Term[] {
  return (text.normalize('NFKC').match(WORD) ?? []).flatMap((match) => {
    const word = match.replace(/(?<=[\p{L}\p{N}])[^\p{L}\p{N}]+$/u, '').replaceAll('’', "'")
    if (STOP_WORDS.has(word.toLowerCase())) return []
    // A letter alone says nothing: "gRPC" is not about G.711 and RPC.
    const pieces = word.split(BOUNDARY).filter(({ length }) => length > 1)
    const parts = pieces.length < 2 ? [] : pieces.map(stemOf)
    return [{ word, stem: stemOf(word.replace(/[_.@/-]+/g, '')), parts }]
  })
}

/** Every stem of a text, including those of the parts of compound words. */
export function stemsOf(text: string): string[] {
  return termsOf(text).flatMap(({ stem, parts }) => [stem, ...parts])
}

/** True for a verb that fits many things ("set", "send"). */
export function isLight(stem: string): boolean {
  return light.has(stem)
}

/** Stems with about the same meaning, in the words of this service. */
export function synonymsOf(stem: string): string[] {
  return synonyms
    .filter((group) => group.includes(stem))
    .flatMap((group) => group.filter((each) => each !== stem))
}

/** True if a word is a known one cut short or misspelled ("cancl"), not another word ("bread" for "break"). */
export function isMisspelled(word: string, known: string): boolean {
  if (known.startsWith(word)) return true
  if (word.length !== known.length) return word[0] === known[0] && word.length >= 5
  const at = word.split('').findIndex((letter, index) => letter !== known[index])
  const swapped = word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2)
  return swapped === known || (word[0] === known[0] && word.length > 6)
}

function stemOf(word: string): string {
  const plain = word.toLowerCase().replace(/'s?$/, '').replaceAll("'", '')
  return /^[a-z]{3,40}$/.test(plain) ? stemmer(plain) : plain
}

const light = new Set(LIGHT_WORDS.map(stemOf))
const synonyms = SYNONYM_GROUPS.map((group) => group.map((word) => stemOf(word.replace(/[.-]/g, ''))))
