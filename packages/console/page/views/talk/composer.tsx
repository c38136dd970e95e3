import type { RunnableMetadata } from '@svc/contract'
import { useState } from 'preact/hooks'
import { Icon } from '../../components/icon.tsx'
import { asSchema, initialOf } from '../../components/schema-form/read-schema.ts'
import { SchemaForm } from '../../components/schema-form/schema-form.tsx'
import type { Draft } from '../../models/draft.ts'
import { MessageForm } from './message-form.tsx'

/** Where the visitor writes: a message, or the input of a runnable with a schema. */
export function Composer({
  runnable: { name, input },
  draft,
  onSend,
  children
}: {
  runnable: RunnableMetadata
  /** An earlier message to be changed. */
  draft: Draft | undefined
  onSend: (draft: Draft) => void
  /** Further buttons. */
  children: preact.ComponentChildren
}) {
  return input === undefined ? (
    <MessageForm {...{ name, draft, onSend, children }} />
  ) : (
    <InputForm {...{ schema: input, draft, onSend, children }} />
  )
}

function InputForm({
  schema,
  draft,
  onSend,
  children
}: Pick<Parameters<typeof Composer>[0], 'draft' | 'onSend' | 'children'> & { schema: unknown }) {
  const [value, setValue] = useState(() => draft?.input ?? initialOf(asSchema(schema)))
  const submit = (event: Event) => {
    event.preventDefault()
    onSend({ input: value ?? null, files: [], rest: [] })
  }
  return (
    <form class="composer form" onSubmit={submit}>
      <SchemaForm schema={schema} value={value} onChange={setValue} label="Input" />
      <div class="row">
        <button type="submit" class="button primary">
          <Icon name="send" /> Run
        </button>
        {children}
      </div>
    </form>
  )
}
