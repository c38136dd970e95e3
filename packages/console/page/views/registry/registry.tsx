import type { RunnableMetadata } from '@svc/contract'
import { hrefOf, type Route } from '../../app/router.ts'
import { cleanLine } from '../../components/clean-text.ts'
import { Empty, ErrorNotice } from '../../components/notice.tsx'
import { useLoad } from '../../components/use-load.ts'
import { KINDS, KIND_TITLES, listAllRunnables } from '../../models/kinds.ts'
import { Runnable } from './runnable.tsx'
import { Wires } from './wires.tsx'
import './registry.css'

/** `#/registry` is what is served, and by which wires; `#/registry/agent/desk` is one of them. */
export function Registry({ route }: { route: Route }) {
  const [, kind, name] = route.path
  const known = KINDS.find((each) => each === kind)
  if (known !== undefined && name !== undefined)
    return <Runnable key={`${known} ${name}`} runnable={{ kind: known, name }} />
  return <All />
}

function All() {
  const all = useLoad(listAllRunnables, [])
  const lists = all.value ?? []
  return (
    <>
      <header class="view-head">
        <h1>Registry</h1>
      </header>
      <div class="view-body stack">
        {all.error !== undefined && <ErrorNotice error={all.error} onRetry={all.reload} />}
        {all.value !== undefined && lists.every((list) => list.length === 0) && (
          <Empty icon="registry" title="Nothing is served" />
        )}
        {lists.map(
          (list, at) => list.length > 0 && <Kind key={at} title={KIND_TITLES[KINDS[at]!]} list={list} />
        )}
        <Wires />
      </div>
    </>
  )
}

function Kind({ title, list }: { title: string; list: readonly RunnableMetadata[] }) {
  return (
    <section class="stack">
      <h2>{title}</h2>
      <ul class="card registry-list">
        {list.map(({ kind, name, description, model }) => (
          <li key={name}>
            <a href={hrefOf(['registry', kind, name])}>
              <strong>{cleanLine(name, 100)}</strong>
              <span class="hint ellipsis">{cleanLine(description ?? '', 160)}</span>
              {model !== undefined && <code class="hint">{cleanLine(model, 60)}</code>}
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}
