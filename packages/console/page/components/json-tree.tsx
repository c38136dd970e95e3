import { useState } from 'preact/hooks'
import { cleanText } from './clean-text.ts'
import { CopyButton } from './elements.tsx'
import './json-tree.css'

/** Children that are shown at first, and with each step further. */
const PAGE = 100
/** Characters of a text that are shown at first. */
const LONG = 1_000

/** Any JSON as a tree: closed parts and long texts cost nothing until they are opened. */
export function JsonTree({ value, label, open = 2 }: { value: unknown; label: string; open?: number }) {
  return (
    <div class="json" role="group" aria-label={label}>
      <Value value={value} open={open} />
      <CopyButton text={() => JSON.stringify(value, null, 2) ?? ''} label={`Copy ${label}`} />
    </div>
  )
}

function Value({ value, name, open }: { value: unknown; name?: string | undefined; open: number }) {
  if (typeof value === 'object' && value !== null) return <Branch value={value} name={name} open={open} />
  return (
    <div class="json-line">
      <Name name={name} />
      {typeof value === 'string' ? (
        <Text text={value} />
      ) : (
        <span class={`json-${value === null ? 'null' : typeof value}`}>{String(value)}</span>
      )}
    </div>
  )
}

function Branch({ value, name, open }: { value: object; name: string | undefined; open: number }) {
  const isList = Array.isArray(value)
  const keys = isList ? undefined : Object.keys(value)
  const count = keys?.length ?? (value as unknown[]).length
  const [isOpen, setOpen] = useState(open > 0 && count <= PAGE)
  const [shown, setShown] = useState(PAGE)
  const size = isList ? `[${count}]` : `{${count}}`
  if (count === 0)
    return (
      <div class="json-line">
        <Name name={name} />
        <span class="json-null">{isList ? '[ ]' : '{ }'}</span>
      </div>
    )
  const children = []
  for (let index = 0; isOpen && index < Math.min(count, shown); index++) {
    const key = keys?.[index] ?? index
    children.push(
      <li key={key}>
        <Value value={(value as Record<string | number, unknown>)[key]} name={String(key)} open={open - 1} />
      </li>
    )
  }
  return (
    <div>
      <button type="button" class="json-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Name name={name} />
        <span class="json-size">{size}</span>
      </button>
      {isOpen && <ul>{children}</ul>}
      {isOpen && count > shown && (
        <button type="button" class="json-more" onClick={() => setShown(shown + PAGE)}>
          {Math.min(PAGE, count - shown)} more of {count}
        </button>
      )}
    </div>
  )
}

function Name({ name }: { name: string | undefined }) {
  return name === undefined ? null : (
    <>
      <bdi class="json-name">{cleanText(name.slice(0, LONG))}</bdi>
      <span aria-hidden="true">: </span>
    </>
  )
}

function Text({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false)
  const isLong = text.length > LONG
  return (
    <>
      <bdi class="json-string">{cleanText(isLong && !isWhole ? text.slice(0, LONG) : text)}</bdi>
      {isLong && !isWhole && (
        <button type="button" class="json-more" onClick={() => setWhole(true)}>
          all {text.length} characters
        </button>
      )}
    </>
  )
}
