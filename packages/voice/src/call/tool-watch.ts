import {
  codeOf,
  isLateAnswer,
  type ApprovalAnswer,
  type InputAnswer,
  type PartOf,
  type RequestedInput,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_BAD_INPUT } from '@svc/contract/errors'
import { sendError, type CallScope } from './call-scope.ts'
import type { ClientToolCall } from './response.ts'

/** What a watch needs of the responses. */
export interface ToolHost {
  /** Milliseconds until all audio so far is played; 0 while nothing is playing. */
  playsFor(): number
  /** Speaks a text of the call. */
  say(text: string): void
  callClient(calls: readonly ClientToolCall[]): void
}

/** The tools of the answers under way: fills silence, reports events, and has the client execute its own. */
export class ToolWatch {
  readonly #scope: CallScope
  readonly #host: ToolHost
  /** Tools in progress, by id. */
  readonly #open = new Map<string, PartOf<'tool.call'>>()
  /** Tools of the client that were called, but not asked for yet. */
  readonly #expected = new Set<string>()
  #asked: ClientToolCall[] = []
  #timer: NodeJS.Timeout | undefined
  /** Since a tool began; the filler is spoken once. */
  #hasFilled = false

  constructor(scope: CallScope, host: ToolHost) {
    this.#scope = scope
    this.#host = host
  }

  /** True if a tool is in progress that does not wait for one of these inputs. */
  isWorking(inputs: Iterable<RequestedInput>): boolean {
    const waiting = new Set([...inputs].map(({ request }) => request.toolCallId))
    return [...this.#open.keys()].some((toolCallId) => !waiting.has(toolCallId))
  }

  /** Takes a part of an answer. */
  take(part: YieldedPart): void {
    if (part.type === 'tool.call') this.#begin(part)
    else if (part.type === 'tool.result' || part.type === 'tool.error') this.#end(part)
  }

  /** The run waits for the client's result of a tool. */
  ask(call: ClientToolCall): void {
    this.#asked.push(call)
    this.#expected.delete(call.toolCallId)
    this.#callClient()
  }

  /** The answer has ended, with all its tools. */
  clear(): void {
    clearTimeout(this.#timer)
    this.#open.clear()
    this.#expected.clear()
    this.#asked = []
    this.#hasFilled = false
  }

  #begin(part: PartOf<'tool.call'>): void {
    const { toolCallId, toolName, args, runsAt } = part
    if (part.providerExecuted) return
    if (this.#open.size === 0) this.#hasFilled = false
    this.#open.set(toolCallId, part)
    if (runsAt === 'client') this.#expected.add(toolCallId)
    else this.#fillAfter(this.#scope.plan.tools.fillerAfter)
    this.#scope.events.emit('voice.tool.call', () => ({ toolCallId, toolName, args: structuredClone(args) }))
  }

  #end(part: PartOf<'tool.result'> | PartOf<'tool.error'>): void {
    const { toolCallId, toolName } = part
    if (!this.#open.delete(toolCallId)) return
    if (this.#open.size === 0) clearTimeout(this.#timer)
    this.#asked = this.#asked.filter((call) => call.toolCallId !== toolCallId)
    if (this.#expected.delete(toolCallId)) this.#callClient()
    if (part.type === 'tool.error') return
    const { result, durationMs } = part
    this.#scope.events.emit('voice.tool.result', () => ({
      toolCallId,
      toolName,
      durationMs,
      result: structuredClone(result)
    }))
  }

  // Those of one step are called in one response.
  #callClient(): void {
    if (this.#expected.size > 0 || this.#asked.length === 0) return
    this.#host.callClient(this.#asked)
    this.#asked = []
  }

  #fillAfter(ms: number): void {
    const { filler, fillerAfter } = this.#scope.plan.tools
    if (filler === undefined || this.#hasFilled) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const playsFor = this.#host.playsFor()
      if (playsFor > 0) return this.#fillAfter(playsFor + fillerAfter)
      this.#hasFilled = true
      this.#host.say(filler)
    }, ms)
  }
}

interface Open {
  readonly id: string
  readonly isApproval: boolean
}

/** What an answer waits for from the user: approvals, and questions of its tools. They are asked aloud, and answered by voice. */
export class Questions {
  readonly #scope: CallScope
  readonly #say: (text: string) => void
  readonly #open: Open[] = []

  /** @param say speaks a text of the call */
  constructor(scope: CallScope, say: (text: string) => void) {
    this.#scope = scope
    this.#say = say
  }

  /** True while the user is asked. */
  get isWaiting(): boolean {
    return this.#open.length > 0
  }

  /** Asks, until there is an answer over any wire. */
  ask({ request, settled }: RequestedInput): void {
    if (request.type === 'input.request') {
      if (request.kind === 'tool') return
      // Credentials must not be spoken: the client answers over a wire.
      if (request.kind === 'question') this.#wait({ id: request.inputId, isApproval: false }, settled)
      this.#say(request.message ?? '')
      return
    }
    const { approvalId, toolName, args } = request
    this.#wait({ id: approvalId, isApproval: true }, settled)
    void this.#scope.link.send({ type: 'approval', approvalId, toolName, args })
    this.#say(this.#scope.plan.tools.question({ toolName, args }))
  }

  /** Takes what the user says; false if it answers no question. An approval is answered by exactly yes or no. */
  take(words: string): boolean {
    const [first] = this.#open
    if (first === undefined) return false
    if (!first.isApproval) {
      this.#answer(first, { action: 'accept', content: words })
      return true
    }
    const { yes, no } = this.#scope.plan.tools
    const word = toWord(words)
    if (!yes.has(word) && !no.has(word)) return false
    this.#answer(first, yes.has(word) ? { approved: true } : { approved: false, reason: words })
    return true
  }

  #wait(open: Open, settled: Promise<void>): void {
    this.#open.push(open)
    void settled.then(() => this.#remove(open))
  }

  #answer(open: Open, answer: ApprovalAnswer | InputAnswer): void {
    this.#remove(open)
    this.#scope.link.answer(open.id, answer).catch((err: unknown) => {
      if (isLateAnswer(err) || codeOf(err) === 'RUN_ERR_INPUT_NOT_FOUND') return
      sendError(this.#scope, err)
      // The run waits on for an answer that fits.
      if (err instanceof RUN_ERR_BAD_INPUT) this.#open.unshift(open)
    })
  }

  #remove(open: Open): void {
    const index = this.#open.indexOf(open)
    if (index !== -1) this.#open.splice(index, 1)
  }
}

/** A word as it is compared: without case and punctuation. */
export function toWord(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s]/gu, '')
    .trim()
}
