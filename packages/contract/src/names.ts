import { randomFillSync } from 'node:crypto'
import { Type, type Static } from '@sinclair/typebox'
import { REG_ERR_BAD_KIND, REG_ERR_BAD_NAME } from './errors.ts'

/** The three kinds of runnable. */
export const RunnableKindSchema = Type.Union(
  [Type.Literal('agent'), Type.Literal('team'), Type.Literal('workflow')],
  { title: 'RunnableKind' }
)
export type RunnableKind = Static<typeof RunnableKindSchema>

/** Every kind, in the order in which lists show them. */
export const RUNNABLE_KINDS: readonly RunnableKind[] = ['agent', 'team', 'workflow']

/** The id of the global registry, and of every registry without an id of its own. */
export const GLOBAL_REGISTRY = 'global'

/** The registry id of runs whose runnable nothing exposes; no surface shows them. */
export const NO_REGISTRY = ''

/** Identifies a runnable within an engine. */
export interface RunnableKey {
  /** The id of its registry. */
  readonly registry: string
  readonly kind: RunnableKind
  readonly name: string
}

/** The maximum length of a name. */
export const MAX_NAME_LENGTH = 128

// Control characters, and characters that need escaping in a URL path segment.
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029/\\?#%]/

/**
 * Returns the name if it is valid: 1–128 characters, no control characters, none of `/ \ ? # %`,
 * no space at either end, well-formed Unicode, and neither `.` nor `..`.
 * @throws REG_ERR_BAD_NAME
 */
export function requireName(name: unknown): string {
  const fault = nameFault(name)
  if (fault !== undefined) throw new REG_ERR_BAD_NAME(fault)
  return name as string
}

/** Returns the kind if it is valid. @throws REG_ERR_BAD_KIND */
export function requireKind(kind: unknown): RunnableKind {
  if (!RUNNABLE_KINDS.includes(kind as RunnableKind))
    throw new REG_ERR_BAD_KIND(typeof kind === 'string' ? kind : typeof kind)
  return kind as RunnableKind
}

function nameFault(name: unknown): string | undefined {
  if (typeof name !== 'string') return 'it must be a string'
  if (name.length === 0) return 'it is empty'
  if (name.length > MAX_NAME_LENGTH) return `it has more than ${MAX_NAME_LENGTH} characters`
  if (FORBIDDEN.test(name)) return 'it has a control character or one of / \\ ? # %'
  if (!name.isWellFormed()) return 'it is not well-formed Unicode'
  if (name !== name.trim()) return 'it begins or ends with a space'
  if (name === '.' || name === '..') return `"${name}" has a meaning of its own in paths`
  return undefined
}

const IN_WORD = /[\p{L}\p{N}\p{M}_]/u

interface Mention {
  readonly name: string
  readonly start: number
  readonly end: number
}

interface Node {
  readonly next: Map<number, Node>
  readonly depth: number
  /** The name that ends here. */
  name?: string
  /** The node of the longest proper suffix of this path. */
  back: Node
  /** The nearest node along `back` at which a name ends. */
  shorter: Node | undefined
}

/**
 * Finds the names of runnables in a text, as whole words and case-insensitively; of two that begin at the same index, the longer.
 * Finds the first mention in time linear in the text, whatever the names are (Aho and Corasick, 1975).
 */
export class NameFinder {
  readonly #root = createNode(0)

  /** If two names differ in case only, the first is found. */
  constructor(names: Iterable<string>) {
    for (const name of names) this.#add(name)
    this.#link()
  }

  /** Yields the names in the order of the text, once per mention. */
  *find(given: string): Generator<string, void> {
    const text = given.toLowerCase()
    for (let from = 0; ;) {
      const found = this.#findFirst(text, from)
      if (found === undefined) return
      yield found.name
      from = found.end
    }
  }

  #add(name: string): void {
    if (name === '') return
    let node = this.#root
    const word = name.toLowerCase()
    for (let at = 0; at < word.length; at++) {
      const unit = word.charCodeAt(at)
      let next = node.next.get(unit)
      if (next === undefined) node.next.set(unit, (next = createNode(node.depth + 1, this.#root)))
      node = next
    }
    node.name ??= name
  }

  // Level by level, since `back` leads to nodes nearer to the root.
  #link(): void {
    const queue = [...this.#root.next.values()]
    for (const node of queue) {
      for (const [unit, next] of node.next) {
        next.back = step(node.back, unit)
        next.shorter = next.back.name === undefined ? next.back.shorter : next.back
        queue.push(next)
      }
    }
  }

  #findFirst(text: string, from: number): Mention | undefined {
    let node = this.#root
    let best: Mention | undefined
    for (let at = from; at < text.length; at++) {
      node = step(node, text.charCodeAt(at))
      // Any later match begins later, too.
      if (best !== undefined && at + 1 - node.depth > best.start) return best
      const ends: Node | undefined = node.name === undefined ? node.shorter : node
      if (ends === undefined || isInWord(text, at + 1)) continue
      for (let each: Node | undefined = ends; each !== undefined; each = each.shorter) {
        const start = at + 1 - each.depth
        if (isAfterWord(text, start)) continue
        if (best === undefined || start <= best.start) best = { name: each.name!, start, end: at + 1 }
        break
      }
    }
    return best
  }
}

function createNode(depth: number, root?: Node): Node {
  const node: Partial<Node> = { next: new Map(), depth, shorter: undefined }
  node.back = root ?? (node as Node)
  return node as Node
}

function step(from: Node, unit: number): Node {
  let node = from
  while (node.depth > 0 && !node.next.has(unit)) node = node.back
  return node.next.get(unit) ?? node
}

function isInWord(text: string, at: number): boolean {
  const point = text.codePointAt(at)
  return point !== undefined && IN_WORD.test(String.fromCodePoint(point))
}

function isAfterWord(text: string, at: number): boolean {
  const last = /.$/su.exec(text.slice(Math.max(0, at - 2), at))?.[0]
  return last !== undefined && IN_WORD.test(last)
}

const HEX = Buffer.from('0123456789abcdef')
/** The position of each byte's two digits. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const

const idBytes = Buffer.alloc(16 * 128)
const idText = Buffer.alloc(36, '-')
let nextIdByte = idBytes.length

/**
 * Creates a random UUID, version 4 (RFC 9562), with 122 random bits. `crypto.randomUUID` concatenates twenty strings, which V8 keeps
 * as a rope of 490 bytes; this one is a flat string of 64 bytes.
 */
export function randomId(): string {
  if (nextIdByte === idBytes.length) {
    randomFillSync(idBytes)
    nextIdByte = 0
  }
  idBytes[nextIdByte + 6] = (idBytes[nextIdByte + 6]! & 0x0f) | 0x40
  idBytes[nextIdByte + 8] = (idBytes[nextIdByte + 8]! & 0x3f) | 0x80
  for (const place of PLACES) {
    const byte = idBytes[nextIdByte++]!
    idText[place] = HEX[byte >> 4]!
    idText[place + 1] = HEX[byte & 0x0f]!
  }
  return idText.toString('latin1')
}

const DIGITS = Buffer.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz')
/** The largest multiple of 62 in a byte: bytes from here on would make some digits more frequent. */
const FAIR = 248
const SECOND_DIGITS = 7
const TIME_DIGITS = SECOND_DIGITS + 2
const RANDOM_DIGITS = 22

const runBytes = Buffer.alloc(4_096)
const runText = Buffer.alloc(TIME_DIGITS + RANDOM_DIGITS)
let nextRunByte = runBytes.length
let second = -1

/**
 * Creates the id of a run: the seconds since the epoch as 7 digits of base 36, the milliseconds as 2 digits of base 62, then 22 random
 * digits of base 62, which are over 128 bits. Ids sort by time, so that stores can keep the runs of a day together and add to the end of
 * their indexes; to everybody else they are opaque.
 */
export function newRunId(now = Date.now()): string {
  const seconds = Math.floor(now / 1_000)
  if (seconds !== second) {
    runText.write(seconds.toString(36).padStart(SECOND_DIGITS, '0').slice(-SECOND_DIGITS), 'latin1')
    second = seconds
  }
  const milliseconds = Math.floor(now - seconds * 1_000)
  runText[SECOND_DIGITS] = DIGITS[Math.floor(milliseconds / 62)]!
  runText[SECOND_DIGITS + 1] = DIGITS[milliseconds % 62]!
  for (let place = TIME_DIGITS; place < runText.length;) {
    if (nextRunByte === runBytes.length) {
      randomFillSync(runBytes)
      nextRunByte = 0
    }
    const byte = runBytes[nextRunByte++]!
    if (byte < FAIR) runText[place++] = DIGITS[byte % 62]!
  }
  return runText.toString('latin1')
}

/** Identifies a conversation: a runnable, an owner and a session. */
export interface SessionKey extends RunnableKey {
  readonly owner: string
  readonly sessionId: string
}

/**
 * A session's key as one string. It is unambiguous: registry ids and names contain no slash, and the session id is preceded by its
 * length. The global registry has no prefix.
 */
export function sessionKeyText(key: SessionKey): string {
  return key instanceof TurnKey ? key.text : toText(key)
}

// One string without parts: stores hash it and keep it.
function toText({ registry, owner, kind, name, sessionId }: SessionKey): string {
  const place = [kind, name, sessionId.length, sessionId + owner]
  return (registry === GLOBAL_REGISTRY ? place : ['', registry, ...place]).join('/')
}

/** The key of the session of a turn, whose text is made once for all that stores do in the turn. */
export class TurnKey implements SessionKey {
  readonly registry: string
  readonly owner: string
  readonly kind: RunnableKind
  readonly name: string
  readonly sessionId: string
  #text: string | undefined

  constructor(registry: string, owner: string, kind: RunnableKind, name: string, sessionId: string) {
    this.registry = registry
    this.owner = owner
    this.kind = kind
    this.name = name
    this.sessionId = sessionId
  }

  get text(): string {
    return (this.#text ??= toText(this))
  }
}

/** The key of `sessionKeyText`; undefined for any other text. */
export function parseSessionKey(text: string): SessionKey | undefined {
  const [, registry = GLOBAL_REGISTRY, kind, name, length, rest] =
    /^(?:\/([^/]*)\/)?([^/]*)\/([^/]*)\/(\d+)\/(.*)$/s.exec(text) ?? []
  if (kind === undefined || name === undefined || rest === undefined) return undefined
  const end = Number(length)
  return {
    registry,
    kind: kind as RunnableKind,
    name,
    sessionId: rest.slice(0, end),
    owner: rest.slice(end)
  }
}
