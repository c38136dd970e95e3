import './registry.css'
import type { RunnableMetadata } from '@svc/contract'
import { surfaceUrl } from '../../api/client.ts'
import { getNames, type Wire } from '../../api/resources.ts'
import { hrefOf, type Route } from '../../app/router.ts'
import { cleanLine } from '../../components/clean-text.ts'
import { CopyButton } from '../../components/elements.tsx'
import { useLoad } from '../../components/hooks.ts'
import { Empty, ErrorNotice } from '../../components/notice.tsx'
import { KIND_TITLES, KINDS, listAllRunnables } from '../../models/kinds.ts'
import { Runnable } from './runnable.tsx'

/** The wires of the service, with the addresses that clients take, and their documents. */
function Wires() {
  const names = useLoad((signal) => getNames({ signal }), [])
  const wires = names.value?.wires ?? []
  const addressOf = resolver(wires)
  return (
    <section class="stack">
      <h2>Wires</h2>
      {names.error !== undefined && <ErrorNotice error={names.error} onRetry={names.reload} />}
      <ul class="card registry-list">
        {wires.map(({ name, path, document }) => {
          const address = addressOf(path).href
          return (
            <li key={`${name} ${path}`} class="row">
              <strong>{cleanLine(name, 60)}</strong>
              <code class="ellipsis">{cleanLine(address, 200)}</code>
              <CopyButton text={address} label={`Copy the address of ${cleanLine(name, 60)}`} />
              {document !== undefined && (
                <a class="end" href={addressOf(document).href} target="_blank" rel="noopener">
                  document
                </a>
              )}
            </li>
          )
        })}
      </ul>
    </section>
  )
}

// Paths are those of the app; a proxy in front of it may have put something before them.
function resolver(wires: readonly Wire[]): (path: string) => URL {
  const http = surfaceUrl('http')!
  const own = wires.find(({ name, path }) => name === 'http' && http.pathname.endsWith(`${path}/`))
  const before = own === undefined ? '' : http.pathname.slice(0, -own.path.length - 1)
  return (path) => new URL(before + path, http)
}

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
