import type { PartError } from '@svc/contract'
import type { CompletionEvent, EndEvent } from './completion-event.ts'
import type { Completion } from './completion-schemas.ts'
import { toCallFields } from './functions.ts'

/** Collects a completion from its events, without what is void. */
export class CompletionMessage {
  #texts: string[] = []
  #reasoning: string[] = []
  #end: EndEvent | undefined
  #error: Pick<PartError, 'code' | 'message'> | undefined

  /** Why the run failed, if it did. */
  get error(): Pick<PartError, 'code' | 'message'> | undefined {
    return this.#error
  }

  add(event: CompletionEvent): void {
    switch (event.type) {
      case 'begin':
        this.#texts = []
        this.#reasoning = []
        this.#end = undefined
        break
      case 'text':
        this.#texts.push(event.text)
        break
      case 'reasoning':
        this.#reasoning.push(event.text)
        break
      case 'void':
        this.#texts = [this.#texts.join('').slice(0, event.kept)]
        this.#reasoning = [this.#reasoning.join('').slice(0, event.keptReasoning)]
        break
      case 'end':
        this.#end = event
        break
      case 'fail':
        this.#error = event.error
    }
  }

  /** The completion; undefined before its end. */
  build({ id, created, model }: Pick<Completion, 'id' | 'created' | 'model'>): Completion | undefined {
    if (this.#end === undefined) return undefined
    const { reason, calls, annotations, usage } = this.#end
    const text = this.#texts.join('')
    const reasoning = this.#reasoning.join('')
    const message: Completion['choices'][number]['message'] = {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      refusal: null,
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      annotations: [...annotations],
      ...toCallFields(calls, reason === 'function_call')
    }
    const choice = { index: 0, message, logprobs: null, finish_reason: reason } as const
    return { id, object: 'chat.completion', created, model, choices: [choice], usage }
  }
}
