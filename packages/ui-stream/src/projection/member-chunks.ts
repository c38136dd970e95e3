import type { PartOf } from '@svc/contract'
import type { UiChunk } from '../wire/chunks.ts'

interface MemberAnswer {
  readonly source: readonly string[]
  text: string
  structured: unknown
}

/**
 * What members of a team and steps of a workflow say: increments as transient `data-member-text`, and each answer, once it is whole, as a
 * `data-member` of the message.
 */
export class MemberChunks {
  readonly #answers = new Map<string, MemberAnswer>()
  readonly #ended = new Map<string, number>()

  text({ source = [], text, type }: PartOf<'text'> | PartOf<'reasoning'>): UiChunk[] {
    if (type === 'text') this.#answerOf(source).text += text
    const data = { source, delta: text, ...(type === 'reasoning' && { reasoning: true }) }
    return [{ type: 'data-member-text', data, transient: true }]
  }

  structured({ source = [], value }: PartOf<'structured'>): void {
    this.#answerOf(source).structured = value ?? null
  }

  /** A step of a member begins: its answer is what follows. */
  begin({ source = [], attempt }: PartOf<'step.start'>): UiChunk[] {
    const answer = this.#answers.get(source.join('/'))
    if (answer !== undefined) answer.text = ''
    if (attempt <= 1) return []
    return [{ type: 'data-member-text', data: { source, delta: '', void: true }, transient: true }]
  }

  /** A member has ended. */
  end(source: readonly string[]): UiChunk[] {
    const name = source.join('/')
    const answer = this.#answers.get(name)
    this.#answers.delete(name)
    const { text = '', structured = null } = answer ?? {}
    if (text === '' && structured === null) return []
    const count = (this.#ended.get(name) ?? 0) + 1
    this.#ended.set(name, count)
    const data = { source: [...source], text, ...(structured !== null && { structured }) }
    return [{ type: 'data-member', id: count === 1 ? name : `${name}#${count}`, data }]
  }

  /** The run has ended: what members have said so far. */
  endAll(): UiChunk[] {
    return [...this.#answers.values()].flatMap(({ source }) => this.end(source))
  }

  #answerOf(source: readonly string[]): MemberAnswer {
    const name = source.join('/')
    let answer = this.#answers.get(name)
    if (answer === undefined) this.#answers.set(name, (answer = { source, text: '', structured: null }))
    return answer
  }
}
