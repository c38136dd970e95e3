import { useState } from 'preact/hooks'
import { describeError } from '../api/client.ts'
import { answerInput, getInput } from '../api/resources.ts'
import { announce } from '../app/announcer.tsx'
import { cleanLine, cleanText } from './clean-text.ts'
import { Icon } from './elements.tsx'
import { JsonTree } from './json-tree.tsx'
import { ErrorNotice } from './notice.tsx'
import { JsonField, SchemaForm } from './schema-form/schema-form.tsx'
import { initialOf, asSchema } from './schema-form/read-schema.ts'
import { Left } from './time.tsx'
import { useLoad } from './hooks.ts'
import './answer-card.css'

/** A question, a call of a client tool or a request for credentials that a run waits for. */
export interface AskedInput {
  readonly inputId: string
  readonly kind: 'question' | 'tool' | 'auth'
  readonly message?: string | undefined
  readonly schema?: unknown
  readonly toolName?: string | undefined
  /** Undefined if there are none, or if they are large: then they are read when the card is shown. */
  readonly args?: unknown
  readonly argsPreview?: string | undefined
  readonly expiresAt: string
}

/** Asks the visitor for what a run waits for: with a form of its schema, or as JSON. */
export function InputCard({ asked, onAnswered }: { asked: AskedInput; onAnswered?: () => void }) {
  const { inputId, kind, message, schema, toolName, expiresAt } = asked
  const whole = useLoad(
    async (signal) => (asked.argsPreview === undefined ? asked : await getInput(inputId, { signal })),
    [inputId]
  )
  const [content, setContent] = useState(() => initialOf(asSchema(schema)))
  const [state, setState] = useState<{ isBusy: boolean; error?: unknown }>({ isBusy: false })
  const id = `input-${inputId}`
  const args = whole.value?.args

  const answer = async (action: 'accept' | 'decline') => {
    setState({ isBusy: true })
    try {
      await answerInput(inputId, { action, ...(action === 'accept' && content !== undefined && { content }) })
      announce(action === 'accept' ? 'Answered' : 'Declined')
      onAnswered?.()
    } catch (error) {
      announce(describeError(error))
      setState({ isBusy: false, error })
    }
  }
  const submit = (event: Event) => {
    event.preventDefault()
    void answer('accept')
  }
  return (
    <form class="answer-card" aria-labelledby={id} onSubmit={submit} autoComplete="off">
      <h2 id={id}>
        <Icon name={kind === 'tool' ? 'tool' : 'ask'} />
        <span>
          {kind === 'tool' ? (
            <>
              Your result of <code>{cleanLine(toolName ?? 'the tool', 100)}</code>
            </>
          ) : kind === 'auth' ? (
            'Credentials are needed'
          ) : (
            'A question for you'
          )}
        </span>
        <span class="hint">
          <Left until={expiresAt} /> left
        </span>
      </h2>
      {message !== undefined && <p class="asked">{cleanText(message)}</p>}
      {whole.error !== undefined && <ErrorNotice error={whole.error} onRetry={whole.reload} />}
      {args !== undefined && <JsonTree value={args} label="arguments" />}
      {schema === undefined ? (
        <FreeContent id={id} kind={kind} content={content} setContent={setContent} />
      ) : (
        <SchemaForm
          schema={schema}
          value={content}
          onChange={setContent}
          label="Answer"
          isSecret={kind === 'auth'}
        />
      )}
      {state.error !== undefined && <ErrorNotice error={state.error} />}
      <div class="row">
        <button type="submit" class="button primary" disabled={state.isBusy}>
          <Icon name="check" /> Answer
        </button>
        <button
          type="button"
          class="button danger"
          disabled={state.isBusy}
          onClick={() => void answer('decline')}
        >
          <Icon name="cross" /> Decline
        </button>
      </div>
    </form>
  )
}

// Without a schema a question takes any text, and a tool any JSON.
function FreeContent({
  id,
  kind,
  content,
  setContent
}: {
  id: string
  kind: AskedInput['kind']
  content: unknown
  setContent: (value: unknown) => void
}) {
  return (
    <div class="field">
      <label for={`${id}-content`}>{kind === 'tool' ? 'Result' : 'Answer'}</label>
      {kind === 'tool' ? (
        <JsonField id={`${id}-content`} value={content} onChange={setContent} isRequired={false} />
      ) : (
        <input
          class="input"
          id={`${id}-content`}
          type={(kind === 'auth' ? 'password' : 'text') as 'text'}
          autoComplete="off"
          value={typeof content === 'string' ? content : ''}
          onInput={({ currentTarget }) => setContent(currentTarget.value || undefined)}
        />
      )}
    </div>
  )
}
