import {
  type ContentReference,
  type LeftTurn,
  type Part,
  type PartOf,
  type SessionKey,
  type SessionMessage,
  type StoredRun,
  type Stores
} from '@svc/contract'
import { RUN_ERR_CANCELED } from '@svc/contract/errors'
import { steerOf } from './steering.ts'

type UserMessage = Extract<SessionMessage, { role: 'user' }>
type UserPart = Exclude<UserMessage['content'], string>[number]
type UncertainReference = Omit<ContentReference, 'sha256'> & Partial<Pick<ContentReference, 'sha256'>>
type AssistantMessage = Extract<SessionMessage, { role: 'assistant' }>
type SaidCall = NonNullable<AssistantMessage['toolCalls']>[number]
type ToolMessage = Extract<SessionMessage, { role: 'tool' }>
type SaidFile = NonNullable<AssistantMessage['files']>[number]

/** A tool call of a step, with its outcome once there is one. */
interface Call {
  readonly call: SaidCall
  outcome: ToolMessage | undefined
}

/** What a model has said in one step. */
class Step {
  text = ''
  readonly files: SaidFile[] = []
  readonly calls: Call[] = []

  /** Complete messages: a call without an outcome was canceled, or is left out if the provider executes it. */
  toMessages(): SessionMessage[] {
    const { text, files } = this
    const calls = this.calls.filter(({ call, outcome }) => outcome !== undefined || !call.providerExecuted)
    if (text === '' && files.length === 0 && calls.length === 0) return []
    const said = {
      role: 'assistant' as const,
      text,
      ...(files.length > 0 && { files }),
      ...(calls.length > 0 && { toolCalls: calls.map(({ call }) => call) })
    }
    return [said, ...calls.map(({ call, outcome }) => outcome ?? toCanceled(call))]
  }
}

/** The turn of a run that is interrupted, from its log: whole messages only, of which the last one is marked as interrupted. */
class TurnSoFar {
  readonly #messages: SessionMessage[] = []
  #step = new Step()
  /** As in `StartOptions`. */
  afterTurn: string | null | undefined
  // Messages that joined the run, which its next step reads.
  #joined: SessionMessage[] = []

  add(part: Part): void {
    if (part.source?.length || ('parentToolCallId' in part && part.parentToolCallId !== undefined)) return
    if (part.type === 'start') {
      this.afterTurn = part.afterTurn
      if (part.input !== undefined) this.#messages.push(toUserMessage(part.input))
    } else if (part.type === 'step.start') this.#beginStep(part)
    else if (part.type === 'compaction') this.#compact(part)
    else if (part.type === 'data') this.#join(part)
    else if (part.type === 'text') this.#step.text += part.text
    else if (part.type === 'file' && part.toolCallId === undefined) this.#step.files.push(toSaidFile(part))
    else if (part.type === 'tool.call') this.#addCall(part)
    else if (part.type === 'tool.approval.response') this.#edit(part)
    else if (part.type === 'tool.result' || part.type === 'tool.error') this.#answer(part)
  }

  /** The messages of the turn. */
  build(): SessionMessage[] {
    const messages = [...this.#messages, ...this.#step.toMessages()]
    const last = messages.at(-1)
    if (last?.role === 'assistant') messages[messages.length - 1] = { ...last, interrupted: true }
    else messages.push({ role: 'assistant', text: '', interrupted: true })
    return [...messages, ...this.#joined]
  }

  #join(part: PartOf<'data'>): void {
    const steer = steerOf(part)
    if (steer !== undefined) this.#joined.push(toUserMessage(steer.message))
  }

  // What an earlier attempt at the step has said is void.
  #beginStep({ attempt }: PartOf<'step.start'>): void {
    if (attempt === 1) this.#messages.push(...this.#step.toMessages())
    this.#messages.push(...this.#joined)
    this.#joined = []
    this.#step = new Step()
  }

  // Without its summary, earlier messages stay as they are.
  #compact({ text, keeps }: PartOf<'compaction'>): void {
    if (text === undefined) return
    this.#messages.push(...this.#step.toMessages(), { role: 'summary', text, keeps })
    this.#step = new Step()
  }

  #addCall({ toolCallId, toolName, args, providerExecuted }: PartOf<'tool.call'>): void {
    const call = { toolCallId, toolName, args, ...(providerExecuted && { providerExecuted }) }
    this.#step.calls.push({ call, outcome: undefined })
  }

  #edit({ toolCallId, args }: PartOf<'tool.approval.response'>): void {
    const found = this.#find(toolCallId)
    if (found !== undefined && args !== undefined) found.call.args = args
  }

  #answer(part: PartOf<'tool.result'> | PartOf<'tool.error'>): void {
    const { toolCallId, toolName } = part
    const outcome = part.type === 'tool.error' ? { error: part.error } : { result: part.result }
    const found = this.#find(toolCallId)
    if (found !== undefined) found.outcome = { role: 'tool', toolCallId, toolName, ...outcome }
  }

  #find(toolCallId: string): Call | undefined {
    return this.#step.calls.findLast(({ call }) => call.toolCallId === toolCallId)
  }
}

function toCanceled({ toolCallId, toolName }: SaidCall): ToolMessage {
  const { code, message } = new RUN_ERR_CANCELED()
  return { role: 'tool', toolCallId, toolName, error: { code, message } }
}

/** An input of a log as a session keeps it. */
function toUserMessage(input: unknown): UserMessage {
  if (Array.isArray(input)) return { role: 'user', content: (input as UserPart[]).map(toUserPart) }
  return { role: 'user', content: typeof input === 'string' ? input : JSON.stringify(input) }
}

// A file whose hash is not known has none here either.
function toUserPart(part: UserPart): UserPart {
  if (!('size' in part)) return part
  const { type, mimeType, filename, sha256 = '', size } = part as UncertainReference
  return { type, mimeType, ...(filename !== undefined && { filename }), sha256, size }
}

function toSaidFile({ mimeType, filename, url, sha256 = '', size = 0 }: PartOf<'file'>): SaidFile {
  const [top] = mimeType.split('/')
  const type = top === 'image' || top === 'audio' ? top : 'file'
  const file = { type, mimeType, ...(filename !== undefined && { filename }) } as const
  return url === undefined ? { ...file, sha256, size } : { ...file, url }
}

// Per read: many small parts, or one large one.
const PAGE = { entries: 4_096, bytes: 1_048_576 }

/** The run that leaves its turn. */
type Leaving = Pick<StoredRun, 'runId' | 'epoch' | 'registry' | 'kind' | 'name' | 'sessionId'>

/**
 * Leaves in the session of a run what its log has, if it is to be kept. A turn that was saved before stays as it is. Call it before the
 * run ends, and again after a crash: it is saved once.
 */
export async function leaveTurn(stores: Stores, run: Leaving, { owner, keep }: LeftTurn): Promise<void> {
  if (!keep) return
  const { runId, epoch } = run
  const turn = new TurnSoFar()
  for (let seq = 0; ;) {
    const entries = await stores.log.read(runId, seq, PAGE)
    if (entries.length === 0) break
    for (const { part } of entries) turn.add(part)
    seq = entries.at(-1)!.seq
  }
  const key = keyOf(run, owner)
  await stores.sessionIndex?.enter(key, runId)
  const { afterTurn: after } = turn
  const from = after === undefined ? undefined : { runId, after }
  await stores.sessions.append(key, runId, turn.build(), { runId, epoch }, from)
}

/** True if the turn of a run is the last one of its session: it was saved before the run could be canceled. */
export async function isTurnSaved({ sessionIndex }: Stores, run: Leaving, owner: string): Promise<boolean> {
  const page = await sessionIndex?.messages(keyOf(run, owner), { limit: 1 })
  return page?.messages.at(-1)?.turnId === run.runId
}

function keyOf({ registry, kind, name, sessionId }: Leaving, owner: string): SessionKey {
  return { registry, kind, name, sessionId, owner }
}
