import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import './details.css'

/** A folded part, whose content is drawn once it is opened. */
export function Details({
  summary,
  children,
  open = false
}: {
  summary: ComponentChildren
  children: () => ComponentChildren
  open?: boolean
}) {
  const [isOpen, setOpen] = useState(open)
  return (
    <details class="details" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && <div class="details-body">{children()}</div>}
    </details>
  )
}
