import { setTimeout as sleep } from 'node:timers/promises'
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt
} from '@ai-sdk/provider'
import { type RunContext, type Runnable, type VoiceSettings } from '@svc/contract'
import { RUN_ERR_CANCELED } from '@svc/contract/errors'
import { defineRunnable } from '@svc/registry'
import { createTurn, runAgent, RunEvents, RunGuard, type AgentPlan } from '@svc/runtime/loop'
import { loadResampler } from '../../audio/resample.ts'
import { readWav } from '../../audio/wav.ts'
import { convertRate } from '../../speech/lift-speech.ts'
import { AnswerRun } from '../answer-run.ts'
import type {
  AnswerRequest,
  EngineHost,
  OpenVoiceEngine,
  PlayedAnswer,
  UserTurn,
  VoiceEngine,
  VoiceEngineEvent,
  WrittenTurn
} from '../engine.ts'
import { briefFirst, briefStep, callerOf, RATE, type Briefing, type RealtimePlan } from './realtime-plan.ts'
import { Conversation, textOf, type SpokenTurn } from './conversation.ts'
import { ModelSession } from './model-session.ts'
import { RealtimeLanguageModel } from './realtime-language-model.ts'
import type { RealtimeModel } from './realtime-codec.ts'
import type { ResponseEvent, WantedResponse } from './response-queue.ts'
import { SpokenAnswer } from './spoken-answer.ts'
import { AudioDecoder } from './user-speech.ts'

// The session's message for a turn without a transcript.
const NO_WORDS = '[speech without a transcript]'

/** The words of turns that a model answers before they are transcribed. */
class LateWords {
  readonly #turnOf: (itemId: string) => SpokenTurn | undefined
  readonly #timeout: number

  /** @param timeout milliseconds */
  constructor(turnOf: (itemId: string) => SpokenTurn | undefined, timeout: number) {
    this.#turnOf = turnOf
    this.#timeout = timeout
  }

  /** The words of these turns as one text; undefined without a turn. Never rejects. */
  async of(turns: readonly UserTurn[]): Promise<string | undefined> {
    if (turns.length === 0) return undefined
    const words = await Promise.all(turns.map((turn) => this.#wordsOf(turn)))
    return words.join('\n')
  }

  async #wordsOf({ itemId, text }: UserTurn): Promise<string> {
    if (text !== undefined) return text
    const turn = this.#turnOf(itemId)
    if (turn === undefined) return NO_WORDS
    const late = new AbortController()
    const timeout = sleep(this.#timeout, undefined, { signal: late.signal }).catch(() => undefined)
    try {
      return (await Promise.race([turn.words, timeout])) || NO_WORDS
    } finally {
      late.abort()
      // No answer depends on it any more.
      turn.audio = []
    }
  }
}

/** The conversation of the session so far, as a prompt without instructions. @throws RUN_ERR_STORE, the signal's reason */
async function loadConversation(
  plan: AgentPlan,
  context: RunContext,
  model: LanguageModelV4
): Promise<LanguageModelV4Prompt> {
  const { name } = plan
  const guard = new RunGuard(context, plan.timeout)
  const events = new RunEvents(context, name, 'agent')
  const turn = createTurn(plan, { kind: 'agent', name, context, guard, events })
  try {
    await turn.lock()
    await turn.begin({
      message: undefined,
      kept: context.messages,
      system: '',
      isNew: context.newSession,
      limits: { ...plan.history, maxMessages: entriesOf(plan), compact: undefined },
      model
    })
    return turn.prompt
  } finally {
    guard.close()
    turn.end()
  }
}

// Compaction does not shorten what a connection has read.
function entriesOf({ history: { maxMessages, compact } }: Pick<AgentPlan, 'history'>): number {
  return compact === undefined ? maxMessages : Math.min(maxMessages, MIN_ENTRIES)
}

/** Finds the messages that others added to the session of a call since its last turn, such as a chat in writing. */
class OtherMessages {
  readonly #loaded: number
  #question: string | undefined

  /** @param loaded the number of messages that the session had when the call began */
  constructor(loaded: number) {
    this.#loaded = loaded
  }

  /**
   * The messages of others in the prompt of a turn, which ends with its question.
   * @param words the question, as it will be saved
   */
  find(prompt: LanguageModelV4Prompt, words: Promise<string | undefined>): readonly LanguageModelV4Message[] {
    const found = this.#find(prompt.filter(({ role }) => role !== 'system'))
    void words.then((question) => (this.#question = question ?? this.#question))
    return found
  }

  #find(messages: readonly LanguageModelV4Message[]): readonly LanguageModelV4Message[] {
    const earlier = messages.slice(0, messages.findLastIndex(isUser))
    if (this.#question === undefined) return earlier.slice(this.#loaded)
    const last = earlier.findLastIndex((message) => isUser(message) && textOf(message) === this.#question)
    const next = earlier.findIndex((message, index) => index > last && isUser(message))
    return last < 0 || next < 0 ? [] : earlier.slice(next)
  }
}

const isUser = ({ role }: LanguageModelV4Message) => role === 'user'

/** A text of the call that the model is asked to speak. */
class SpokenText implements WantedResponse {
  readonly answers = false
  readonly modality = 'audio'
  readonly instructions: string
  readonly #onAudio: (itemId: string, base64: string) => void
  readonly #onEnd: (text: SpokenText) => void
  #hasBegun = false

  constructor(
    text: string,
    onAudio: (itemId: string, base64: string) => void,
    onEnd: (text: SpokenText) => void
  ) {
    this.instructions = `Say exactly this text, and nothing before or after it: ${JSON.stringify(text)}`
    this.#onAudio = onAudio
    this.#onEnd = onEnd
  }

  take(event: ResponseEvent): void {
    if (event.type !== 'audio-delta') return
    this.#hasBegun = true
    this.#onAudio(event.itemId, event.delta)
  }

  // What was spoken in part is not repeated.
  restart(): boolean {
    if (this.#hasBegun) this.end()
    return !this.#hasBegun
  }

  end(): void {
    this.#onEnd(this)
  }
}

// The input of a turn until its words are known, which is when it is saved.
const NO_WORDS_YET = '[speech]'
const CONTINUE =
  'Your last message was cut off by a technical fault. Continue it after its last word, without repeating anything.'
// Entries that a new connection gets at least, however little history a prompt has.
const MIN_ENTRIES = 50

/** Begins engines that talk to a realtime model. */
export function realtimeEngine(plan: RealtimePlan): OpenVoiceEngine {
  return async (host) => {
    const model = await plan.resolveModel(host.context)
    const briefing = await briefFirst(plan, host.context, host.settings)
    const engine = new RealtimeEngine(plan, model, host, briefing)
    try {
      await engine.open()
      return engine
    } catch (err) {
      engine.close()
      throw err
    }
  }
}

/** A realtime model takes and makes the audio of a call; its turns are runs of an agent whose model it is. */
class RealtimeEngine implements VoiceEngine {
  readonly name = 'realtime'
  readonly inputRate = RATE
  readonly outputRate = RATE
  readonly answersAudio = true
  readonly #plan: RealtimePlan
  readonly #host: EngineHost
  readonly #session: ModelSession
  readonly #conversation: Conversation
  readonly #model: RealtimeLanguageModel
  readonly #runnable: Runnable
  readonly #words: LateWords
  readonly #decoder = new AudioDecoder()
  // Ends answers, with the call or its engine.
  readonly #ending = new AbortController()
  readonly #offAbort: () => void
  #isClosed = false
  readonly #texts = new Set<SpokenText>()
  #others = new OtherMessages(0)
  #settings: VoiceSettings
  #answer: SpokenAnswer
  #request: AnswerRequest | undefined
  // The words of its turns.
  #question: Promise<string | undefined> = Promise.resolve(undefined)
  #run: AnswerRun | undefined
  // True until the first step of a turn.
  #isFirstStep = false
  // True once the response under way has brought something.
  #hasBegun = false
  #continues = false

  constructor(plan: RealtimePlan, model: RealtimeModel, host: EngineHost, briefing: Briefing) {
    const { agent, times } = plan
    this.#plan = plan
    this.#host = { ...host, notify: (event) => this.#notify(host, event) }
    this.#settings = host.settings
    this.#offAbort = host.context.onAbort((reason) => this.#ending.abort(reason))
    this.#conversation = new Conversation(Math.max(entriesOf(agent), MIN_ENTRIES))
    this.#session = new ModelSession({
      plan,
      model,
      briefing,
      host: this.#host,
      conversation: this.#conversation,
      onRestore: () => this.#answer.release()
    })
    this.#words = new LateWords((itemId) => this.#session.turn(itemId), times.transcription)
    this.#answer = this.#newAnswer()
    this.#model = this.#toLanguageModel(model)
    const resolveModel = () => this.#model
    this.#runnable = defineRunnable({
      kind: 'agent',
      name: agent.name,
      stream: (input, context) => runAgent({ ...agent, resolveModel }, input, context, this.#question)
    })
  }

  async open(): Promise<void> {
    const { agent } = this.#plan
    const prompt = await loadConversation(agent, this.#host.context, this.#model)
    this.#others = new OtherMessages(prompt.length)
    this.#conversation.load(prompt)
    await this.#session.open()
  }

  append(samples: Int16Array): void {
    this.#session.append(samples)
  }

  commit(itemId: string): void {
    this.#session.commit(itemId)
  }

  clear(): void {
    this.#session.clear()
  }

  write(turn: WrittenTurn): void {
    if ('text' in turn) this.#session.write(turn.itemId, turn.text)
    else void this.#writeAudio(turn)
  }

  respond(request: AnswerRequest): void {
    this.#request = request
    this.#question = this.#words.of(request.turns)
    this.#answer = this.#newAnswer()
    this.#isFirstStep = true
    const run = new AnswerRun({
      host: this.#host,
      runnable: this.#runnable,
      request,
      input: request.turns.map(({ text }) => text ?? NO_WORDS_YET).join('\n') || NO_WORDS_YET,
      caller: callerOf(this.#host.context, this.#settings),
      signal: this.#ending.signal
    })
    this.#run = run
    this.#session.isAnswering = true
    void run.run().then(() => {
      if (this.#run === run) this.#run = undefined
      this.#session.isAnswering = false
    })
  }

  say(text: string): void {
    const spoken = new SpokenText(
      text,
      (itemId, base64) => {
        this.#host.notify({ type: 'audio', of: 'say', samples: this.#decoder.decode(itemId, base64) })
      },
      () => {
        if (this.#texts.delete(spoken)) this.#host.notify({ type: 'said' })
      }
    )
    this.#texts.add(spoken)
    this.#session.queue.request(spoken)
  }

  textAt(ms: number): string {
    return this.#answer.textAt(ms)
  }

  delivered(): void {
    this.#run?.delivered()
  }

  interrupt(played: PlayedAnswer): void {
    this.#run?.interrupt(played)
    for (const text of this.#texts) this.#session.queue.cancel(text)
    if (this.#request?.modality === 'text') return
    for (const { itemId, audioEndMs } of this.#answer.cut(played.ms))
      this.#session.truncate(itemId, audioEndMs)
  }

  configure(settings: VoiceSettings): void {
    this.#settings = settings
    this.#session.configure(settings)
  }

  close(): void {
    this.#isClosed = true
    this.#offAbort()
    this.#session.close()
    this.#ending.abort(new RUN_ERR_CANCELED())
  }

  // Realtime models take raw audio only.
  async #writeAudio({ itemId, audio }: Extract<WrittenTurn, { audio: Uint8Array }>): Promise<void> {
    try {
      const whole = convertRate(readWav(audio), await loadResampler(), RATE)
      this.#session.writeAudio(itemId, whole)
    } catch (error) {
      this.#session.refuse(itemId, error)
    }
  }

  #notify(host: EngineHost, event: VoiceEngineEvent): void {
    if (!this.#isClosed) host.notify(event)
  }

  #newAnswer(): SpokenAnswer {
    return new SpokenAnswer(RATE, () => this.#conversation.addMessage('assistant', ''))
  }

  #toLanguageModel({ provider, modelId }: RealtimeModel): RealtimeLanguageModel {
    const { queue, abilities } = this.#session
    return new RealtimeLanguageModel({
      provider,
      modelId,
      queue,
      modality: () => this.#request?.modality ?? 'audio',
      instructions: () => (this.#continues ? CONTINUE : this.#request?.instructions),
      pausesAtCalls: !abilities.items,
      prepare: (options) => this.#prepare(options),
      onText: (itemId, delta) => {
        this.#hasBegun = true
        this.#answer.addText(itemId, delta)
      },
      onAudio: (itemId, base64) => {
        this.#hasBegun = true
        const samples = this.#decoder.decode(itemId, base64)
        this.#answer.addAudio(itemId, samples.length)
        this.#host.notify({ type: 'audio', of: 'answer', samples })
      },
      onCall: (call) => this.#conversation.addCall(call, this.#session.socket),
      onRestart: () => this.#restart(abilities.create)
    })
  }

  // Before each step of a turn: what the model does not know yet.
  #prepare(options: LanguageModelV4CallOptions): void {
    const { prompt } = options
    this.#hasBegun = this.#continues = false
    this.#session.brief(briefStep(options))
    if (this.#isFirstStep) this.#addOthers(prompt)
    this.#isFirstStep = false
    this.#conversation.addOutputs(prompt, this.#session.socket)
  }

  #addOthers(prompt: LanguageModelV4Prompt): void {
    const [first] = this.#request?.turns ?? []
    const turn = first && this.#session.turn(first.itemId)
    this.#conversation.insert(this.#others.find(prompt, this.#question), turn, this.#session.socket)
  }

  // True if the answer ends with what came of it, since the provider cannot be asked to continue.
  #restart(canAsk: boolean): boolean {
    this.#conversation.forgetCalls()
    this.#continues = this.#hasBegun && canAsk
    return this.#hasBegun && !canAsk
  }
}
