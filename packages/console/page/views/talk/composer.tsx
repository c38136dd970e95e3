import type { RunnableMetadata } from '@svc/contract'
import { useEffect, useRef, useState } from 'preact/hooks'
import { cleanLine } from '../../components/clean-text.ts'
import { Icon } from '../../components/elements.tsx'
import { asSchema, initialOf } from '../../components/schema-form/read-schema.ts'
import { SchemaForm } from '../../components/schema-form/schema-form.tsx'
import { formatBytes } from '../../components/time.tsx'
import type { Draft } from '../../models/draft.ts'

/** A message: a text, and files that were chosen, pasted, or dropped anywhere on the page. */
function MessageForm({
  name,
  draft,
  onSend,
  children
}: {
  name: string
  draft: Draft | undefined
  onSend: (draft: Draft) => void
  children: preact.ComponentChildren
}) {
  const [input, setInput] = useState(typeof draft?.input === 'string' ? draft.input : '')
  const [files, setFiles] = useState(draft?.files ?? [])
  const form = useRef<HTMLFormElement>(null)
  const add = (added: Iterable<File>) => setFiles((old) => [...old, ...added])
  const isOver = useDrop(add)
  const rest = draft?.rest ?? []
  const isEmpty = input.trim() === '' && files.length + rest.length === 0
  const submit = (event: Event) => {
    event.preventDefault()
    if (isEmpty) return
    onSend({ input: input.trim() === '' ? '' : input, files, rest })
    setInput('')
    setFiles([])
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    form.current?.requestSubmit()
  }
  const onPaste = (event: ClipboardEvent) => {
    const pasted = event.clipboardData?.files
    if (!pasted?.length) return
    event.preventDefault()
    add(pasted)
  }
  return (
    <form class="composer" ref={form} onSubmit={submit} data-drop={isOver}>
      {files.length > 0 && (
        <ul class="row attached" aria-label="Files">
          {files.map((file, at) => (
            <li class="chip" key={at}>
              <bdi class="ellipsis">{cleanLine(file.name, 60)}</bdi> {formatBytes(file.size)}
              <button
                type="button"
                class="button quiet"
                aria-label={`Remove ${cleanLine(file.name, 60)}`}
                onClick={() => setFiles(files.filter((each) => each !== file))}
              >
                <Icon name="cross" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <label class="button quiet icon" title="Attach files">
        <Icon name="clip" />
        <input
          type="file"
          multiple
          class="visually-hidden"
          aria-label="Attach files"
          onChange={({ currentTarget }) => {
            add(currentTarget.files ?? [])
            currentTarget.value = ''
          }}
        />
      </label>
      <textarea
        aria-label={`Message to ${name}`}
        placeholder={isOver ? 'Drop files here' : `Message ${name}`}
        rows={1}
        maxLength={100_000}
        value={input}
        onInput={({ currentTarget }) => setInput(currentTarget.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      {children}
      <button type="submit" class="button primary icon" aria-label="Send" title="Send" disabled={isEmpty}>
        <Icon name="send" />
      </button>
    </form>
  )
}

/** Takes files that are dropped anywhere; the browser would leave the page for them. True while some are above it. */
function useDrop(onFiles: (files: Iterable<File>) => void): boolean {
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    const drag = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      setOver(event.type === 'dragover')
      if (event.type === 'drop') onFiles(event.dataTransfer.files)
    }
    // The pointer has left the window.
    const leave = ({ relatedTarget }: DragEvent) => relatedTarget === null && setOver(false)
    addEventListener('dragover', drag)
    addEventListener('drop', drag)
    addEventListener('dragleave', leave)
    return () => {
      removeEventListener('dragover', drag)
      removeEventListener('drop', drag)
      removeEventListener('dragleave', leave)
    }
  }, [])
  return isOver
}

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
    <MessageForm name={name} draft={draft} onSend={onSend} children={children} />
  ) : (
    <InputForm schema={input} draft={draft} onSend={onSend} children={children} />
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
