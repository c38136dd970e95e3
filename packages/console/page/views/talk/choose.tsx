import type { RunnableMetadata } from '@svc/contract'
import { hrefOf } from '../../app/router.ts'
import { cleanLine } from '../../components/clean-text.ts'
import { Empty, ErrorNotice } from '../../components/notice.tsx'
import { KIND_TITLES, KINDS, listAllRunnables } from '../../models/kinds.ts'
import { useLoad } from '../../components/use-load.ts'

/** Everything that can be talked to. */
export function Choose() {
  const all = useLoad(listAllRunnables, [])
  const isEmpty = all.value?.every((list) => list.length === 0) ?? false
  return (
    <>
      <header class="view-head">
        <h1>Who do you want to talk to?</h1>
      </header>
      <div class="view-body stack">
        {all.error !== undefined && <ErrorNotice error={all.error} onRetry={all.reload} />}
        {isEmpty && (
          <Empty icon="talk" title="Nobody is here">
            <p>The service has no agents, teams or workflows that you may run.</p>
          </Empty>
        )}
        {all.value?.map(
          (list, at) => list.length > 0 && <Group key={at} title={KIND_TITLES[KINDS[at]!]} list={list} />
        )}
      </div>
    </>
  )
}

function Group({ title, list }: { title: string; list: readonly RunnableMetadata[] }) {
  return (
    <section class="stack">
      <h2>{title}</h2>
      <ul class="cards">
        {list.map(({ kind, name, description }) => (
          <li key={name}>
            <a class="card" href={hrefOf(['talk', kind, name])}>
              <strong>{cleanLine(name, 100)}</strong>
              {description !== undefined && <span class="hint">{cleanLine(description, 160)}</span>}
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}
