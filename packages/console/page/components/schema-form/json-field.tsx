import { useState } from 'preact/hooks'

/** Any JSON, entered as text. */
export function JsonField({
  id,
  describedBy,
  value,
  onChange,
  isRequired
}: {
  id: string
  describedBy?: string | undefined
  value: unknown
  onChange: (value: unknown) => void
  isRequired: boolean
}) {
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)))
  const change = (element: HTMLTextAreaElement) => {
    setText(element.value)
    element.setCustomValidity('')
    if (element.value.trim() === '') return onChange(undefined)
    try {
      onChange(JSON.parse(element.value))
    } catch (err) {
      element.setCustomValidity(`This is not JSON: ${(err as Error).message}`)
    }
  }
  return (
    <textarea
      class="input code"
      id={id}
      aria-describedby={describedBy}
      required={isRequired}
      spellcheck={false}
      placeholder="JSON"
      value={text}
      onInput={({ currentTarget }) => change(currentTarget)}
    />
  )
}
