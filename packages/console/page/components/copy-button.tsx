import { useState } from 'preact/hooks'
import { announce } from '../app/announcer.tsx'
import { Icon } from './icon.tsx'

/** Copies a text. Clipboards exist only in pages that were loaded over TLS or from this machine. */
export function CopyButton({ text, label }: { text: string | (() => string); label: string }) {
  const [copied, setCopied] = useState(false)
  if (typeof navigator.clipboard?.writeText !== 'function') return null
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : text())
      setCopied(true)
      announce('Copied')
      setTimeout(() => setCopied(false), 1_500)
    } catch {
      announce('The browser does not allow to copy')
    }
  }
  return (
    <button
      type="button"
      class="button quiet icon"
      aria-label={label}
      title={label}
      onClick={() => void copy()}
    >
      <Icon name={copied ? 'check' : 'copy'} />
    </button>
  )
}
