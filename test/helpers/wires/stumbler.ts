import { Type } from '@sinclair/typebox'
import {
  defineRunnable,
  errors,
  expose,
  type RunContext,
  type Runnable,
  type YieldedPart
} from '@svc/registry'
import { pause } from '@svc/testing'
import { Random } from '../../../bench/soak/random.ts'

interface Stumbling {
  id: string
  seed: number
  fails: boolean
}

type Parts = AsyncGenerator<YieldedPart, void>

/**
 * An agent with members whose steps are repeated, as after a crash, and that may fail: its input is the JSON of `{ id, seed, fails }`, and it does the
 * same for the same seed.
 */
export function stumbler(): Runnable {
  return defineRunnable({
    kind: 'agent',
    name: 'stumbler',
    stream(input, context) {
      const { id, seed, fails } = JSON.parse(String(input)) as Stumbling
      return new Stumble(id, new Random(seed), context).parts(fails)
    }
  })
}

class Stumble {
  readonly #id: string
  readonly #random: Random
  readonly #context: RunContext
  #questions = 0
  // Arguments are whole then: a wire may order calls by where they begin.
  #isTogether = false

  constructor(id: string, random: Random, context: RunContext) {
    this.#id = id
    this.#random = random
    this.#context = context
  }

  async *parts(fails: boolean): Parts {
    const random = this.#random
    for (let index = 0, count = random.below(4); index < count; index++) yield* this.#step(index, [])
    if (random.chance(0.2)) yield { type: 'structured', value: { by: this.#id } }
    const finishReason = random.pick(['stop', 'stop', 'length', 'content-filter', 'max-steps'] as const)
    const thrown = [
      new Error('a secret'),
      new errors.RUN_ERR_REJECTED('Not today'),
      expose({ code: 'APP_ERR_CLOSED', message: 'The shop is closed', statusCode: 409 })
    ]
    if (fails) throw random.pick(thrown)
    yield { type: 'finish', finishReason }
  }

  async *#step(index: number, source: string[]): Parts {
    const random = this.#random
    const place = source.length > 0 ? { source } : {}
    const attempts = random.chance(0.4) ? 1 + random.below(3) : 1
    for (let attempt = 1; attempt <= attempts; attempt++) {
      yield { type: 'step.start', index, attempt, ...place }
      yield* this.#say(place)
      // Providers may use the same ids in each step.
      const calls = Array.from({ length: random.below(3) }, (_, at) => ({
        toolCallId: `call-${at}`,
        toolName: random.pick(['look', 'act']),
        ...place
      }))
      const called: typeof calls = []
      for (const call of calls) {
        const args = { n: random.below(9) }
        const [begin, end] = ['{"n":', `${args.n}}`] as const
        const isStreamed = !this.#isTogether && random.chance(0.3)
        if (isStreamed) yield { type: 'tool.call.delta', delta: begin, ...call }
        // A crash while the model writes the arguments.
        if (isStreamed && attempt < attempts && random.chance(0.2)) break
        if (isStreamed) yield { type: 'tool.call.delta', delta: end, ...call }
        yield { type: 'tool.call', args, ...call }
        called.push(call)
      }
      // A crash, before which a call or a member may have ended.
      if (attempt < attempts) {
        if (called[0] !== undefined && random.chance(0.3)) yield* this.#outcome(called[0])
        if (source.length === 0 && random.chance(0.3)) yield* this.#member(['ada'])
        continue
      }
      const usage = { promptTokens: random.below(99), completionTokens: 2, totalTokens: 0 }
      yield { type: 'step', index, usage: { ...usage, totalTokens: usage.promptTokens + 2 }, ...place }
      if (source.length === 0 && random.chance(0.3)) yield* this.#together(['ada', 'bob'])
      for (const call of calls) {
        if (source.length < 2 && random.chance(0.2))
          yield* this.#member([...source, random.pick(['ada', 'bob'])])
        if (source.length === 0 && random.chance(0.3)) await this.#ask()
        yield* this.#outcome(call)
      }
    }
  }

  async *#member(source: string[]): Parts {
    for (let index = 0, count = 1 + this.#random.below(2); index < count; index++)
      yield* this.#step(index, source)
    yield { type: 'finish', finishReason: 'stop', source }
  }

  // Each repeats steps while the other one continues.
  async *#together(names: readonly string[]): Parts {
    const members = names.map((name) => this.#member([name]))
    this.#isTogether = true
    while (members.length > 0) {
      const member = this.#random.pick(members)
      const next = await member.next()
      if (next.done === true) members.splice(members.indexOf(member), 1)
      else yield next.value
    }
    this.#isTogether = false
  }

  async *#say(place: { source?: string[] }): Parts {
    const random = this.#random
    for (let count = random.below(5); count > 0; count--) {
      await pause(1, this.#context.signal)
      const text = random.pick(['', 'a ', 'b\n', '"c" ', 'd'])
      yield { type: random.chance(0.7) ? 'text' : 'reasoning', text, ...place }
      if (random.chance(0.1)) yield { type: 'citation', url: 'https://example.com/', ...place }
      if (random.chance(0.1)) yield { type: 'data', name: 'chart', value: random.below(9), ...place }
      if (random.chance(0.1))
        yield { type: 'file', url: 'https://example.com/f.png', mimeType: 'image/png', ...place }
    }
  }

  async *#outcome(call: { toolCallId: string; toolName: string; source?: string[] }): Parts {
    await pause(1, this.#context.signal)
    const result = this.#random.pick(['done', 7, { ok: true }, [1, 2]])
    if (this.#random.chance(0.8)) yield { type: 'tool.result', result, durationMs: 1, ...call }
    else yield { type: 'tool.error', error: { code: 'RUN_ERR_TOOL_FAILED', message: 'off' }, ...call }
  }

  async #ask(): Promise<void> {
    const schema = Type.Object({ choice: Type.Integer() })
    await this.#context.ask({ message: `Which one for ${this.#id}.${++this.#questions}?`, schema })
  }
}
