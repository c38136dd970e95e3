import './details.css'
import './facts.css'
import type { RunStatus } from '@svc/contract'
import { Component, type ComponentChildren, type ComponentType, type VNode } from 'preact'
import { useState } from 'preact/hooks'
import { announce } from '../app/announcer.tsx'
import { cleanText } from './clean-text.ts'

const PATHS = {
  talk: 'M5 6.5A2.5 2.5 0 0 1 7.5 4h9A2.5 2.5 0 0 1 19 6.5v6a2.5 2.5 0 0 1-2.5 2.5H11l-4 4v-4.1a2.5 2.5 0 0 1-2-2.4z',
  sessions: 'M7 5h10M7 9.5h10M7 14h6M4 5v.01M4 9.5v.01M4 14v.01M4 18.5h9',
  runs: 'M4 6h9M4 12h14M4 18h6M17 6h3M14 18h6',
  inbox: 'M4 13 6.5 5h11L20 13v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1zM4 13h4.5l1.2 2.2h4.6L15.5 13H20',
  registry: 'M5 5h6v6H5zM13 13h6v6h-6zM16 5v6M13 8h6M5 16h6',
  health: 'M4 13h3.5l2-6 4 11 2.5-5H20',
  film: 'M5 5h14v14H5zM9 5v14M15 5v14M5 12h14',
  send: 'M12 19V6M6.5 11 12 5.5 17.5 11',
  stop: 'M8 8h8v8H8z',
  plus: 'M12 6v12M6 12h12',
  back: 'M14 6l-6 6 6 6',
  down: 'M6 10l6 6 6-6',
  right: 'M10 6l6 6-6 6',
  check: 'M5.5 12.5 10 17l8.5-9.5',
  cross: 'M7 7l10 10M17 7 7 17',
  copy: 'M9 9h9v10H9zM6 15V5h9',
  download: 'M12 5v10M7.5 11 12 15.5 16.5 11M5 19h14',
  file: 'M7 4h7l4 4v12H7zM14 4v4h4',
  tool: 'M14.5 6.5a3.5 3.5 0 0 1 4-1.3l-2.3 2.4.6 1.9 1.9.6 2.3-2.3a3.5 3.5 0 0 1-4.7 4.3L10 18.5A1.8 1.8 0 0 1 7.4 16l6.3-6.3a3.5 3.5 0 0 1 .8-3.200z',
  think: 'M9 18h6M10 21h4M12 3.5a6 6 0 0 0-3.5 10.900V15.5h7v-1.100A6 6 0 0 0 12 3.5z',
  ask: 'M9.3 9.200a2.8 2.8 0 1 1 4.2 2.400c-1 .6-1.5 1.1-1.5 2.200M12 17v.01M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z',
  search: 'M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM15.5 15.5 20 20',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 3v1.5M12 19.5V21M3 12h1.5M19.5 12H21M5.6 5.600l1.1 1.100M17.3 17.3l1.1 1.100M18.4 5.600l-1.1 1.100M6.7 17.3l-1.1 1.1',
  moon: 'M19 14.5A7.5 7.5 0 0 1 9.5 5a7.5 7.5 0 1 0 9.5 9.5z',
  auto: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 4v16M12 8h6.900M12 12h8M12 16h6.9',
  edit: 'M5 19l1-4L15.5 5.5l3 3L9 18zM13.5 7.5l3 3',
  again: 'M18.5 12a6.500 6.500 0 1 1-2-4.700L19 9.500M19 5v4.500h-4.500',
  clip: 'M17.5 10.500 11.200 16.800a2.800 2.800 0 0 1-4-4l7-7a4.200 4.200 0 0 1 6 6l-7.200 7.200',
  mic: 'M12 4a2.500 2.500 0 0 0-2.500 2.500v5a2.500 2.500 0 0 0 5 0v-5A2.500 2.500 0 0 0 12 4zM6 11.500a6 6 0 0 0 12 0M12 17.500V20',
  leave: 'M10 5H6v14h4M14 8l4 4-4 4M18 12H9'
} as const

/** The name of a glyph. */
export type IconName = keyof typeof PATHS

/** A glyph beside a label; screen readers skip it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon-glyph" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}

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

/** Names with their values, side by side. */
export function Facts({ children }: { children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>
}

/** One value among others. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** The states of runs, as the page says them. */
export const STATUS_LABELS: Readonly<Record<RunStatus, string>> = {
  submitted: 'Queued',
  working: 'Working',
  'input-required': 'Waiting for you',
  completed: 'Completed',
  failed: 'Failed',
  canceled: 'Canceled'
}

/** The state of a run: a dot and a word. */
export function Status({ status }: { status: RunStatus }) {
  return (
    <span class="status" data-status={status}>
      {STATUS_LABELS[status] ?? status}
    </span>
  )
}

/** A link to the web, in a tab that knows nothing of this one; any other address is text. */
export function WebLink({ href, children }: { href: string; children: ComponentChildren }) {
  const url = URL.canParse(href) ? new URL(href) : undefined
  if (url === undefined || !/^(?:https?|mailto):$/.test(url.protocol))
    return <span class="no-link">{children}</span>
  return (
    <a href={url.href} target="_blank" rel="noopener noreferrer nofollow ugc" title={cleanText(url.href)}>
      {children}
    </a>
  )
}

/** A component that is drawn again only if a property is another value. */
export function memo<P extends object>(Inner: ComponentType<P>): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const keys = Object.keys({ ...next, ...this.props }) as (keyof P)[]
      return keys.some((key) => next[key] !== this.props[key])
    }

    override render(): VNode {
      return <Inner {...(this.props as P)} />
    }
  }
}
