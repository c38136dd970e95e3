import type { ComponentChildren } from 'preact'
import './facts.css'

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
